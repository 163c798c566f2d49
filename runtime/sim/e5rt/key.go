package e5rt

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Key names a compiled model by everything that can change a byte of it: the
// compiler's version, the options, the name of the source and every file of it. It
// is a SHA-256.
type Key [sha256.Size]byte

// String returns the key in hexadecimal.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// keyDomain parts these hashes from all others; it changes when the way they are
// made does.
const keyDomain = "zinc e5rt cache 1"

// ModelFile is a file that a model is made of.
type ModelFile struct {
	Name string // how the model speaks of it
	Path string // where it is
}

// Key returns the key of a model. It reads all of its files.
func (c *Compiler) Key(ctx context.Context, modelPath string, o *CompilerOptions) (Key, error) {
	if o == nil {
		o = &CompilerOptions{}
	}
	n := *o
	n.ForceNew = false
	if n.InputName == "" {
		n.InputName = filepath.Base(modelPath)
	}
	if len(n.Shapes) == 0 {
		n.Shapes = nil
	}
	if len(n.Extra) == 0 {
		n.Extra = nil
	}
	options, err := json.Marshal(&n) // maps in the order of their keys
	if err != nil {
		return Key{}, err
	}
	files, err := c.c.Inputs(modelPath)
	if err != nil {
		return Key{}, err
	}
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b ModelFile) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	for _, s := range []string{keyDomain, c.c.Version, string(options)} {
		hashString(h, s)
	}
	for _, f := range files {
		sum, err := hashFile(ctx, f.Path)
		if err != nil {
			return Key{}, err
		}
		hashString(h, f.Name)
		hashString(h, sum)
	}
	return Key(h.Sum(nil)), nil
}

// hashString writes a string with its length before it.
func hashString(h hash.Hash, s string) {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
	h.Write(n[:])
	io.WriteString(h, s)
}

// hashFile returns the SHA-256 of a file, or "" for one that is not there: whether
// that is an error is the compiler's to say.
func hashFile(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	buf := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := f.Read(buf)
		h.Write(buf[:n])
		if err == io.EOF {
			return string(h.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// MaxModelFiles bounds what ModelFiles lists.
const MaxModelFiles = 1 << 16

// blobPath finds the weight files that a MIL text names: those that blob finds, as
// long as they are written in the one way that they are written.
var (
	blob     = regexp.MustCompile(`BLOBFILE`)
	blobPath = regexp.MustCompile(`BLOBFILE\s*\(\s*path\s*=\s*(?:tensor<\s*string\s*,\s*\[\s*\]\s*>|string)\s*\(\s*"([^"\\]*)"`)
)

// modelRoot stands for the folder of the text in the name of a weight file.
const modelRoot = "@model_path/"

// ModelFiles lists what a model at a path is made of: of a folder every file below
// it, of a MIL text (.mil) itself and the weight files that it names, of a model
// specification (.mlmodel) itself and every file in the folder "weights" beside it.
// What it cannot tell is an error: another file, a text that names weights in a way
// that it does not know, a folder with links to folders.
func ModelFiles(modelPath string) ([]ModelFile, error) {
	root, err := filepath.EvalSymlinks(modelPath)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return folderFiles(root, "")
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is neither a file nor a folder", modelPath)
	}
	files := []ModelFile{{Name: "model", Path: root}}
	switch filepath.Ext(modelPath) {
	case ".mlmodel":
		weights := filepath.Join(filepath.Dir(root), "weights")
		if info, err := os.Stat(weights); err != nil || !info.IsDir() {
			return files, nil
		}
		more, err := folderFiles(weights, "weights/")
		return append(files, more...), err
	case ".mil":
	default:
		return nil, fmt.Errorf("%s: which files it is made of can be told of folders, .mil and .mlmodel files; give CompilerConfig.Inputs", modelPath)
	}
	text, err := os.ReadFile(root)
	if err != nil {
		return nil, err
	}
	named := blobPath.FindAllSubmatch(text, -1)
	if n := len(blob.FindAll(text, -1)); n != len(named) {
		return nil, fmt.Errorf("%s names %d weights, of which only %d are understood; give CompilerConfig.Inputs", modelPath, n, len(named))
	}
	seen := map[string]bool{}
	for _, m := range named {
		name := string(m[1])
		if seen[name] {
			continue
		}
		seen[name] = true
		path := filepath.FromSlash(name)
		if rel, ok := strings.CutPrefix(name, modelRoot); ok {
			// The text as it was named: a link to it does not move its weights.
			path = filepath.Join(filepath.Dir(modelPath), filepath.FromSlash(rel))
		}
		if len(files) == MaxModelFiles {
			return nil, fmt.Errorf("%s names more than %d files", modelPath, MaxModelFiles)
		}
		files = append(files, ModelFile{Name: "weights " + name, Path: path})
	}
	return files, nil
}

func folderFiles(root, prefix string) ([]ModelFile, error) {
	var files []ModelFile
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := os.Stat(path) // follows links
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a folder", path)
		}
		if len(files) == MaxModelFiles {
			return fmt.Errorf("%s holds more than %d files", root, MaxModelFiles)
		}
		rel, err := filepath.Rel(root, path)
		files = append(files, ModelFile{Name: prefix + filepath.ToSlash(rel), Path: path})
		return err
	})
	return files, err
}

// ExecutableVersion returns a version for CompilerConfig that no two builds of a
// program share: the SHA-256 of the program that runs.
var ExecutableVersion = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	sum, err := hashFile(context.Background(), path)
	return "executable " + hex.EncodeToString([]byte(sum)), err
})
