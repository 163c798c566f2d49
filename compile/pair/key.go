package pair

import (
	"bytes"
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
	"runtime"
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

// Options are the options of a compilation that can change a byte of the pair. Two
// sets of options that mean the same must be spelled the same.
type Options struct {
	Target, Precision, Func string
	// InputName is the name of the source in the descriptor.
	InputName          string
	Place              string
	Shapes             []map[string][]int64 // of inputs, by configuration
	OneSection, FullTD bool
	OperationSymbols   bool `json:",omitempty"`
}

// ErrUnknownFiles reports that NewKey cannot list the files of a model, so that there is no key for it.
var ErrUnknownFiles = errors.New("the files of the model cannot be determined")

// NewKey returns the key of the pair that this program compiles from the model at path. It depends on the program, the
// options and Files. What sum finds of the program and of the files is in the key. Errors come from the file system, or
// wrap ErrUnknownFiles.
func NewKey(ctx context.Context, path, weightsDir string, o Options, sum SumFunc) (Key, error) {
	version, err := executableVersion(ctx, sum)
	if err != nil {
		return Key{}, err
	}
	files, err := Files(path, weightsDir)
	if err != nil {
		return Key{}, fmt.Errorf("%w: %w", ErrUnknownFiles, err)
	}
	if len(o.Shapes) == 0 {
		o.Shapes = nil
	}
	options, err := json.Marshal(&o) // maps in the order of their keys
	if err != nil {
		return Key{}, err
	}
	return KeyOf(ctx, version, string(options), files, sum)
}

// keyDomain separates these hashes from all others; it changes with the way they are computed.
const keyDomain = "zinc cache 1"

// File is a file that a model is made of.
type File struct {
	Name string // its name in the model
	Path string // its path
}

// KeyOf returns the key of the pair that a compiler version compiles from files with options, a text that must be the
// same for equal options. The order of the files is irrelevant.
func KeyOf(ctx context.Context, version, options string, files []File, sumOf SumFunc) (Key, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	for _, s := range []string{keyDomain, version, options} {
		hashString(h, s)
	}
	for _, f := range files {
		sum, err := sumOf(ctx, f.Path)
		if err != nil {
			return Key{}, err
		}
		hashString(h, f.Name)
		hashString(h, sum)
	}
	return Key(h.Sum(nil)), nil
}

// hashString writes a string preceded by its length.
func hashString(h hash.Hash, s string) {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
	h.Write(n[:])
	io.WriteString(h, s)
}

// SumFunc returns the SHA-256 of the bytes of a file, 32 bytes, or "" for a missing file.
type SumFunc func(ctx context.Context, path string) (string, error)

// HashFile is a SumFunc that reads the file: the compiler decides whether a missing one is an error.
func HashFile(ctx context.Context, path string) (string, error) {
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

// MaxFiles bounds what Files lists.
const MaxFiles = 1 << 16

// blob begins a reference to a weight file in a MIL text, and blobPath matches one in the syntax that converters write.
const blob = "BLOBFILE"

var blobPath = regexp.MustCompile(`^` + blob + `\s*\(\s*path\s*=\s*` +
	`(?:tensor<\s*string\s*,\s*\[\s*\]\s*>|string)\s*\(\s*"([^"\\]*)"$`)

// blobPaths returns the weight files that a MIL text names in the known syntax, and how many it names in any.
func blobPaths(text []byte) (named []string, all int) {
	for {
		i := bytes.Index(text, []byte(blob))
		if i < 0 {
			return named, all
		}
		all++
		// The path is what the next two quotation marks enclose.
		text = text[i:]
		open := bytes.IndexByte(text, '"') + 1
		if end := bytes.IndexByte(text[open:], '"'); open > 0 && end >= 0 {
			if m := blobPath.FindSubmatch(text[:open+end+1]); m != nil {
				named = append(named, string(m[1]))
			}
		}
		text = text[len(blob):]
	}
}

// modelRoot represents the folder of the text in the name of a weight file.
const modelRoot = "@model_path/"

// Files lists the files of the model at a path: for a folder every file below it, for a MIL text (.mil) the text and
// the weight files that it names, for a model specification (.mlmodel) the specification and every file in the folder
// "weights" next to it, or every .bin file next to it without such a folder. It returns an error for other files, for a
// text that names weights in an unknown way, and for a folder with links to folders.
//
// weightsDir is the folder for "@model_path" in a text; "" means the folder of the text.
// All files in weightsDir are listed.
func Files(modelPath, weightsDir string) ([]File, error) {
	files, err := modelFiles(modelPath, weightsDir)
	if err != nil || weightsDir == "" {
		return files, err
	}
	root, err := filepath.EvalSymlinks(weightsDir)
	if err != nil {
		return nil, err
	}
	more, err := folderFiles(root, modelRoot)
	return append(files, more...), err
}

func modelFiles(modelPath, weightsDir string) ([]File, error) {
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
	files := []File{{Name: "model", Path: root}}
	switch filepath.Ext(modelPath) {
	case ".mlmodel":
		weights := filepath.Join(filepath.Dir(root), weightsFolder)
		if info, err := os.Stat(weights); err != nil || !info.IsDir() {
			return append(files, filesBeside(root)...), nil
		}
		more, err := folderFiles(weights, weightsFolder+"/")
		return append(files, more...), err
	case ".mil":
	default:
		return nil, fmt.Errorf("%s: unknown kind of model; want a folder, a .mil or a .mlmodel file", modelPath)
	}
	text, err := os.ReadFile(root)
	if err != nil {
		return nil, err
	}
	named, n := blobPaths(text)
	if n != len(named) {
		return nil, fmt.Errorf("%s names %d weights, but only %d of them have the known syntax", modelPath, n,
			len(named))
	}
	seen := map[string]bool{}
	for _, name := range named {
		if seen[name] {
			continue
		}
		seen[name] = true
		path := filepath.FromSlash(name)
		if rel, ok := strings.CutPrefix(name, modelRoot); ok {
			// The path as passed: a link to the text does not move its weights.
			dir := weightsDir
			if dir == "" {
				dir = filepath.Dir(modelPath)
			}
			path = filepath.Join(dir, filepath.FromSlash(rel))
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && filepath.Dir(rel) == weightsFolder {
				path = filepath.Join(dir, filepath.Base(rel)) // saved without its folder
			}
		}
		if len(files) == MaxFiles {
			return nil, fmt.Errorf("%s exceeds the limit of %d weight files", modelPath, MaxFiles)
		}
		files = append(files, File{Name: "weights " + name, Path: path})
	}
	return files, nil
}

// weightsFolder is where converters put weight files, and weightsExt how their names end.
const (
	weightsFolder = "weights"
	weightsExt    = ".bin"
)

// filesBeside returns the files next to a specification that may be weights saved without their folder.
func filesBeside(spec string) (files []File) {
	entries, err := os.ReadDir(filepath.Dir(spec))
	if err != nil {
		return nil // opening the weights reports it
	}
	for _, e := range entries {
		if name := e.Name(); filepath.Ext(name) == weightsExt && !e.IsDir() {
			files = append(files, File{weightsFolder + "/" + name, filepath.Join(filepath.Dir(spec), name)})
		}
	}
	return files
}

func folderFiles(root, prefix string) ([]File, error) {
	var files []File
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
		if len(files) == MaxFiles {
			return fmt.Errorf("%s exceeds the limit of %d files", root, MaxFiles)
		}
		rel, err := filepath.Rel(root, path)
		files = append(files, File{Name: prefix + filepath.ToSlash(rel), Path: path})
		return err
	})
	return files, err
}

// executable is the SHA-256 of the program that runs, once it is known.
var executable struct {
	sync.Mutex
	sum string
}

// executableVersion returns a version for KeyOf that no two builds of a program share: the SHA-256 of the program that
// runs, which sum finds.
func executableVersion(ctx context.Context, sum SumFunc) (string, error) {
	executable.Lock()
	defer executable.Unlock()
	if executable.sum == "" {
		path := "/proc/self/exe" // also if there is another file at its path by now
		if runtime.GOOS != "linux" {
			var err error
			if path, err = os.Executable(); err != nil {
				return "", err
			}
		}
		s, err := sum(ctx, path)
		if err == nil && s == "" {
			err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		if err != nil {
			return "", err
		}
		executable.sum = s
	}
	return "executable " + hex.EncodeToString([]byte(executable.sum)), nil
}
