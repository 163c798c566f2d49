package mlpackage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manifestText is a manifest whose root is the item at path.
func manifestText(path string) string {
	return fmt.Sprintf(`{"fileFormatVersion": "1.0.0", "rootModelIdentifier": "A",
 "itemInfoEntries": {"A": {"name": "model.mlmodel", "path": %q}, "B": {"name": "weights", "path": `+
		`"com.apple.CoreML/weights"}}}`, path)
}

// write writes a package in dir.
func write(t *testing.T, dir, manifest string) {
	t.Helper()
	data := filepath.Join(dir, "Data", "com.apple.CoreML")
	if err := os.MkdirAll(filepath.Join(data, "weights"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		filepath.Join(dir, ManifestName):       manifest,
		filepath.Join(data, "model.mlmodel"):   "specification",
		filepath.Join(dir, "..", "secret.txt"): "secret",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// spec returns the contents of the package's specification.
func spec(dir string) (string, error) {
	p, err := Open(dir, false)
	if err != nil {
		return "", err
	}
	defer p.Root.Close()
	f, size, err := p.OpenSpec()
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err == nil && int64(len(b)) != size {
		err = fmt.Errorf("%d bytes, OpenSpec returns %d", len(b), size)
	}
	return string(b), err
}

func TestPackagesAreOpened(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "m.mlpackage")
	write(t, dir, manifestText("com.apple.CoreML/model.mlmodel"))
	if s, err := spec(dir); err != nil || s != "specification" {
		t.Errorf("specification %q, %v", s, err)
	}
}

// TestWrongManifestsAreRefused opens packages with wrong manifests.
func TestWrongManifestsAreRefused(t *testing.T) {
	const rest = `, "rootModelIdentifier": "A", "itemInfoEntries": {"A": {"path": "x"}}}`
	for _, c := range []struct{ manifest, want string }{
		{"", "byte 0: EOF"},
		{"{", "unexpected EOF"},
		{`{"fileFormatVersion": "2.0.0"` + rest, "unknown version \"2.0.0\""},
		{`{"fileFormatVersion": "1.0.0", "rootModelIdentifier": "Z", "itemInfoEntries": {"A": {"path": "x"}}}`,
			`"Z" is not one of the 1 items`},
		{`{"fileFormatVersion": "1.0.0", "rootModelIdentifier": "A", "itemInfoEntries": {"A": {"path": "x"}, "B": ` +
			`null}}`, "the item is null"},
		{`{"fileFormatVersion": "1.0.0", "rootModelIdentifier": "A", "itemInfoEntries": {"A": {"path": "x"}, "B": ` +
			`{"path": "../../etc"}}}`, `itemInfoEntries[B].path: path "../../etc" must not leave the package`},
		{manifestText(""), "is empty"},
		{manifestText("../../secret.txt"), "must not leave the package"},
		{manifestText("com.apple.CoreML/../../../secret.txt"), "must not leave the package"},
		{manifestText("/etc/passwd"), "must not be absolute"},
		{manifestText(`C:\model`), "backslash"},
		{manifestText("C:/model"), "must not name a drive"},
		{manifestText("."), "is not a file name"},
		{manifestText("com.apple.CoreML/absent.mlmodel"),
			"absent.mlmodel, which the manifest of the package names: no such file"},
		{manifestText("absent/model.mlmodel"), "no such file"},
		{manifestText("com.apple.CoreML/weights"), "not a regular file"},
		{strings.Repeat(" ", maxManifest+1), "the limit is 1048576"},
	} {
		dir := filepath.Join(t.TempDir(), "m.mlpackage")
		write(t, dir, c.manifest)
		if _, err := spec(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.200s\nerror is %v, want %q", c.manifest, err, c.want)
		}
	}
	if _, err := Open(t.TempDir(), false); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), ManifestName) {
		t.Errorf("no manifest: %v", err)
	}
}

// TestLinksOutOfThePackageAreNotFollowed has links at every place of the path.
func TestLinksOutOfThePackageAreNotFollowed(t *testing.T) {
	for _, c := range []struct{ link, to string }{
		{"Data/com.apple.CoreML/model.mlmodel", "../../../secret.txt"},
		{"Data/com.apple.CoreML", "../../outside"},
		{"Data", "../outside"},
		{"Manifest.json", "../outside/Manifest.json"},
	} {
		tmp := t.TempDir()
		dir := filepath.Join(tmp, "m.mlpackage")
		write(t, dir, manifestText("com.apple.CoreML/model.mlmodel"))
		outside := filepath.Join(tmp, "outside")
		for _, sub := range []string{"", "com.apple.CoreML"} {
			if err := os.MkdirAll(filepath.Join(outside, sub), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(outside, sub, "model.mlmodel"), []byte("secret"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(outside, ManifestName),
			[]byte(manifestText("com.apple.CoreML/model.mlmodel")), 0o666); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, filepath.FromSlash(c.link))
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.FromSlash(c.to), at); err != nil {
			t.Skip(err)
		}
		if s, err := spec(dir); err == nil {
			t.Errorf("%s as a link to %s: read %q", c.link, c.to, s)
		}
	}
}

// TestWrittenManifestIsRead checks that a manifest names the specification, and that its identifiers follow from it.
func TestWrittenManifestIsRead(t *testing.T) {
	for _, weights := range []bool{false, true} {
		text := Manifest([]byte("specification"), weights)
		if got := strings.Contains(string(text), "com.apple.CoreML/weights"); got != weights {
			t.Errorf("weights %t in\n%s", weights, text)
		}
		dir := filepath.Join(t.TempDir(), "m.mlpackage")
		write(t, dir, string(text))
		if got, err := spec(dir); got != "specification" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if string(Manifest([]byte("a"), true)) == string(Manifest([]byte("b"), true)) {
		t.Error("two specifications have the same identifiers")
	}
}
