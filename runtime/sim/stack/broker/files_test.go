package broker

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"maps"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// crossed returns a request as the broker reads it.
func crossed(t *testing.T, req CompileRequest) (CompileRequest, error) {
	t.Helper()
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(&Call[CompileRequest]{Value: req}); err != nil {
		t.Fatal(err)
	}
	var c Call[CompileRequest]
	err := gob.NewDecoder(&b).Decode(&c)
	return c.Value, err
}

func TestFilesCrossTheSocket(t *testing.T) {
	for _, req := range []CompileRequest{
		{},
		{Files: Files{{"", []byte{}}}},
		{Files: Files{{"a", []byte{}}, {"weights/weight.bin", bytes.Repeat([]byte{1, 2}, 1000)}, {"a", []byte{3}}},
			Options: CompilerOptions{"": "x", "target": "h13", "empty": ""}},
		{Files: slicesOf(maxFiles)},
	} {
		if got, err := crossed(t, req); err != nil || !reflect.DeepEqual(got, req) {
			t.Errorf("%d files: got %d, %v", len(req.Files), len(got.Files), err)
		}
	}
}

// slicesOf returns n empty files.
func slicesOf(n int) (f Files) {
	for range n {
		f = append(f, File{"", []byte{}})
	}
	return f
}

func TestHostileFilesAreRefused(t *testing.T) {
	long := binary.AppendUvarint(nil, math.MaxUint64)
	for what, b := range map[string][]byte{
		"a name longer than the message":      {5, 'a'},
		"a name as long as numbers go":        long,
		"no data":                             {1, 'a'},
		"data longer than the message":        {1, 'a', 2, 'x'},
		"data as long as numbers go":          append([]byte{1, 'a'}, long...),
		"a number without an end":             bytes.Repeat([]byte{0xff}, 20),
		"a number that is cut":                {0x80},
		"more files than the limit":           make([]byte, 2*maxFiles+2),
		"more files than the limit, and junk": append(make([]byte, 2*maxFiles), 0x80),
	} {
		var f Files
		var o CompilerOptions
		if f.GobDecode(b) == nil || o.GobDecode(b) == nil {
			t.Errorf("%s is accepted", what)
		}
	}
}

// TestMessagesTakeTheirSize sends a list of a million empty files and options, of two bytes each, in a message within
// the limit. The broker refuses it without a million of them in memory.
func TestMessagesTakeTheirSize(t *testing.T) {
	const n = 1 << 20
	_, err := crossed(t, CompileRequest{Files: slicesOf(n)})
	if err == nil || !strings.Contains(err.Error(), "limit of 4096 files") {
		t.Errorf("a list of %d files: %v", n, err)
	}
	b := make([]byte, 2*n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		if new(Files).GobDecode(b) == nil {
			t.Error("the list is accepted")
		}
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / 10; got > 2*uint64(len(b)) {
		t.Errorf("a message of %d bytes takes %d", len(b), got)
	}
}

// TestHostileFilesEndTheirConnection sends too many files to a broker, which goes on with others.
func TestHostileFilesEndTheirConnection(t *testing.T) {
	b, _ := room(t, func(c *Config) {
		c.Compile = func(context.Context, CompileRequest) ([]byte, []byte, error) { return []byte("c"), nil, nil }
	})
	path := listen(t, b)
	good, bad := dial(t, path, caller(1, "A")), dial(t, path, caller(2, "B"))
	if _, err := bad.Compile(t.Context(), CompileRequest{Files: slicesOf(maxFiles + 1)}); err == nil {
		t.Error("the list is accepted")
	}
	options := CompilerOptions(maps.Collect(func(yield func(string, string) bool) {
		for i := range maxFiles + 1 {
			if !yield(string(rune('a'+i)), "") {
				return
			}
		}
	}))
	worse := dial(t, path, caller(3, "C"))
	if _, err := worse.Compile(t.Context(), CompileRequest{Options: options}); err == nil {
		t.Error("the options are accepted")
	}
	if _, err := good.Compile(t.Context(), CompileRequest{Files: Files{{"m", []byte("x")}}}); err != nil {
		t.Errorf("another client: %v", err)
	}
}
