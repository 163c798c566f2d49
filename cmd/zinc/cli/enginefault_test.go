package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile/cache"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/lower/td"
)

// faulting returns a pair whose only task has an invalid operation code.
func faulting(t *testing.T, p pair.Pair) pair.Pair {
	t.Helper()
	f, err := hwx.Read(p.Container)
	if err != nil {
		t.Fatal(err)
	}
	pr := f.Procedures()[0]
	text, entry, _ := f.Text().Of(pr)
	placed, err := td.V7.DecodeChain(text, int(entry), int(pr.FirstWords))
	if err != nil || len(placed) != 1 {
		t.Fatalf("%d tasks, %v", len(placed), err)
	}
	encode := func(task *td.Task) []byte {
		b, _, err := td.V7.AppendChain(make([]byte, entry), []*td.Task{task})
		if err != nil {
			t.Fatal(err)
		}
		return b[entry:]
	}
	old := encode(placed[0].Task)
	changed := encode(placed[0].Task.Set(td.NEOp, 5))
	if bytes.Count(p.Container, old) != 1 || len(changed) != len(old) {
		t.Fatal("the encoded task is not in the container")
	}
	container := bytes.Replace(slices.Clone(p.Container), old, changed, 1)
	hash := func(b []byte) []byte {
		h := sha256.Sum256(b)
		return []byte(hex.EncodeToString(h[:]))
	}
	return pair.Pair{
		Container:  container,
		Descriptor: bytes.ReplaceAll(p.Descriptor, hash(p.Container), hash(container)),
	}
}

// TestEngineFaultIsInternalError runs a model whose cached pair makes the engine fault: this is an internal error that
// names the statement. If the pair is passed as a file, the fault is an error in the input.
func TestEngineFaultIsInternalError(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // of the reproducers
	dir := t.TempDir()
	model, folder := filepath.Join(dir, "m.mil"), filepath.Join(dir, "cache")
	put(t, model, []byte(`program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 4, 1, 32]> x) {
        tensor<fp16, [1, 4, 1, 32]> y = relu(x = x);
    } -> (y);
}
`))
	if status, _, msg := call(t, "run", model, "--random", "1", "--cache", folder); status != 0 {
		t.Fatalf("status %d: %s", status, msg)
	}
	store := cache.Store{Folder: folder}
	list, err := store.List()
	if err != nil || len(list) != 1 {
		t.Fatalf("the cache holds %v, %v", list, err)
	}
	p, err := store.Get(list[0].Key)
	if err != nil {
		t.Fatal(err)
	}
	p = faulting(t, p)
	if err := store.Put(list[0].Key, p); err != nil {
		t.Fatal(err)
	}
	const fault = "NE.Op = 5"
	statement := "m.mil:4:41: y = relu"
	for _, args := range [][]string{
		{"run", model, "--random", "1", "--cache", folder},
		{"run", model, "--random", "1", "--cache", folder, "--engine", "direct"},
		{"stack", model, "--cache", folder},
	} {
		status, _, msg := call(t, args...)
		if status != statusInternal || !strings.Contains(msg, statement) || !strings.Contains(msg, fault) {
			t.Errorf("%q: status %d, %q; want status 3 with %q and %q", args, status, msg, statement, fault)
		}
	}
	file := filepath.Join(dir, "m.hwx")
	put(t, file, p.Container)
	put(t, filepath.Join(dir, "m.e5"), p.Descriptor)
	status, _, msg := call(t, "run", file, "--random", "1")
	if status != statusInput || !strings.Contains(msg, fault) {
		t.Errorf("of a pair's file: status %d, %q; want status 1 with %q", status, msg, fault)
	}
	if strings.Contains(msg, "m.mil") {
		t.Errorf("without a debug database the message names a statement: %q", msg)
	}

	// With the debug database of the pair it names the statement.
	zdb := filepath.Join(dir, "m.zdb")
	if status, _, msg := call(t, model, "-o", filepath.Join(dir, "whole.hwx"), "--debug-db", zdb); status != 0 {
		t.Fatalf("status %d: %s", status, msg)
	}
	db, err := provenance.Open(zdb)
	if err != nil {
		t.Fatal(err)
	}
	db.SHA256 = sha256.Sum256(p.Container)
	var b bytes.Buffer
	if err := db.Write(&b); err != nil {
		t.Fatal(err)
	}
	put(t, zdb, b.Bytes())
	status, _, msg = call(t, "run", file, "--random", "1")
	if status != statusInput || !strings.Contains(msg, fault) || !strings.Contains(msg, "m.mil:4:41") {
		t.Errorf("with the database: status %d, %q; want status 1 with %q and the place", status, msg, fault)
	}
}
