package mlpackage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
)

// ManifestName is the name of the manifest in a package.
const ManifestName = "Manifest.json"

// dataDir is the folder to which the paths of a manifest are relative.
const dataDir = "Data"

// maxManifest limits the size of a manifest, in bytes. Those that coremltools
// writes have about 600.
const maxManifest = 1 << 20

// A ManifestError is a fault of a package's manifest.
type ManifestError struct {
	File  string
	Field string // as in itemInfoEntries[ID].path
	Msg   string // the rule and the offending value
}

// Error returns the place and the fault.
func (e *ManifestError) Error() string {
	if e.Field == "" {
		return e.File + ": " + e.Msg
	}
	return e.File + ": " + e.Field + ": " + e.Msg
}

// manifest is Manifest.json.
type manifest struct {
	Version string           `json:"fileFormatVersion"`
	Items   map[string]*item `json:"itemInfoEntries"`
	Root    string           `json:"rootModelIdentifier"`
}

type item struct {
	Author      string `json:"author"`
	Description string `json:"description"`
	Name        string `json:"name"`
	Path        string `json:"path"` // relative to Data, with slashes
}

// A Package is an open model package.
type Package struct {
	// Root is the folder of the specification, to which paths of weight files are relative. The Package closes it.
	Root blobfile.Folder
	Dir  string // its path, for messages
	Spec string // path of the specification, for messages

	name string // of the specification in Root
}

// Open reads the manifest of the package at dir and opens the folder of its
// model. If follow is set, links in the package may refer to files outside it.
func Open(dir string, follow bool) (*Package, error) {
	root, err := blobfile.OpenFolder(dir, follow)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file := filepath.Join(dir, ManifestName)
	data, err := read(root, ManifestName, file)
	if err != nil {
		return nil, err
	}
	spec, err := find(file, data)
	if err != nil {
		return nil, err
	}
	folder := path.Join(dataDir, path.Dir(spec))
	p := &Package{Dir: filepath.Join(dir, filepath.FromSlash(folder)), name: path.Base(spec)}
	p.Spec = filepath.Join(p.Dir, p.name)
	if confined, ok := root.(*os.Root); ok {
		p.Root, err = confined.OpenRoot(filepath.FromSlash(folder))
	} else {
		p.Root, err = blobfile.OpenFolder(p.Dir, follow)
	}
	if err != nil {
		return nil, outside(p.Dir, err)
	}
	return p, nil
}

// OpenSpec opens the specification, which must be a regular file.
func (p *Package) OpenSpec() (*os.File, int64, error) {
	info, err := p.Root.Stat(p.name) // before opening, since opening a pipe would wait for a writer
	if err != nil {
		return nil, 0, outside(p.Spec, err)
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s: not a regular file", p.Spec)
	}
	f, err := p.Root.Open(p.name)
	if err != nil {
		return nil, 0, outside(p.Spec, err)
	}
	return f, info.Size(), nil
}

// outside adds the whole path to an error of os.Root.
func outside(name string, err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s, which the manifest of the package names: %w", name, err)
}

// read returns the contents of the manifest.
func read(root blobfile.Folder, name, shown string) ([]byte, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &ManifestError{shown, "", "not a regular file"}
	}
	if info.Size() > maxManifest {
		return nil, &ManifestError{shown, "", fmt.Sprintf("the manifest has %d bytes, the limit is %d", info.Size(),
			maxManifest)}
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxManifest))
}

// find returns the path, relative to Data, of the model that a manifest names.
func find(file string, data []byte) (string, error) {
	var m manifest
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&m); err != nil {
		return "", &ManifestError{file, "", fmt.Sprintf("byte %d: %v", dec.InputOffset(), err)}
	}
	if major, _, _ := strings.Cut(m.Version, "."); major != "1" {
		return "", &ManifestError{file, "fileFormatVersion", fmt.Sprintf("unknown version %q, want 1.x",
			m.Version)}
	}
	it := m.Items[m.Root]
	if it == nil {
		return "", &ManifestError{file, "rootModelIdentifier", fmt.Sprintf("%q is not one of the %d items", m.Root,
			len(m.Items))}
	}
	// Every path is checked: a package that points outside is refused as a whole.
	for id, other := range m.Items {
		if other == nil {
			return "", &ManifestError{file, "itemInfoEntries[" + id + "]", "the item is null"}
		}
	}
	if fault := m.fault(); fault != nil {
		fault.File = file
		return "", fault
	}
	return path.Clean(it.Path), nil
}

// fault returns the error of the first path, by item, that is refused.
func (m *manifest) fault() *ManifestError {
	first := ""
	var worst *ManifestError
	for id, it := range m.Items {
		rule := pathRule(it.Path)
		if rule == "" || worst != nil && id > first {
			continue
		}
		first, worst = id, &ManifestError{
			Field: "itemInfoEntries[" + id + "].path",
			Msg:   fmt.Sprintf("path %q %s", it.Path, rule),
		}
	}
	return worst
}

// pathRule returns the rule that a path of a manifest breaks, or "".
func pathRule(p string) string {
	switch {
	case p == "":
		return "is empty"
	case strings.ContainsAny(p, "\\\x00"):
		return "must not contain a backslash or a zero byte"
	case strings.HasPrefix(p, "/"):
		return "must not be absolute"
	case len(p) >= 2 && p[1] == ':':
		return "must not name a drive"
	}
	if slices.Contains(strings.Split(p, "/"), "..") {
		return `must not leave the package with ".."`
	}
	if path.Clean(p) == "." {
		return "is not a file name"
	}
	return ""
}
