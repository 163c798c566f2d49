package e5rt_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/pair"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
)

// cached returns a compiler of its own runtime over a folder.
func cached(t testing.TB, folder string, f e5rt.CompileFunc) *e5rt.Compiler {
	t.Helper()
	return got[*e5rt.Compiler](t)(newRuntime(t, e5rt.Options{}).NewCompiler(e5rt.CompilerConfig{
		Compile: f,
		Folder:  folder,
		Version: "1",
	}))
}

// tiny compiles once for all tests.
var tiny = sync.OnceValues(func() (pair.Pair, error) {
	return compileModel(context.Background(), "testdata/accumulator.mil", &e5rt.CompilerOptions{})
})

func tinyFunc(ctx context.Context, path string, o *e5rt.CompilerOptions) (pair.Pair, error) {
	return tiny()
}

func entries(t testing.TB, folder string) []string {
	t.Helper()
	files := got[[]string](t)(filepath.Glob(filepath.Join(folder, "*")))
	hidden := got[[]string](t)(filepath.Glob(filepath.Join(folder, ".*")))
	return append(files, hidden...)
}

func TestEqualModelsHitTheCache(t *testing.T) {
	ctx, folder := context.Background(), filepath.Join(t.TempDir(), "made", "here")
	c := cached(t, folder, compileModel)
	required := func(want bool, o *e5rt.CompilerOptions) {
		t.Helper()
		if r := got[bool](t)(c.IsNewCompileRequired(ctx, "testdata/tiny.mil", o)); r != want {
			t.Errorf("a new compilation is required: %t, want %t", r, want)
		}
	}
	required(true, nil)
	first := got[*e5rt.ProgramLibrary](t)(c.Compile(ctx, "testdata/tiny.mil", nil))
	required(false, nil)
	required(false, &e5rt.CompilerOptions{InputName: "tiny.mil"}) // the name it has anyhow
	required(true, &e5rt.CompilerOptions{ForceNew: true})
	second := got[*e5rt.ProgramLibrary](t)(c.Compile(ctx, "testdata/tiny.mil", nil))
	if first.FromCache() || !second.FromCache() || !reflect.DeepEqual(first.Pair(), second.Pair()) {
		t.Errorf("from the cache: %t, then %t; equal %t", first.FromCache(), second.FromCache(),
			reflect.DeepEqual(first.Pair(), second.Pair()))
	}
	got[*e5rt.ProgramLibrary](t)(c.Compile(ctx, "testdata/tiny.mil", &e5rt.CompilerOptions{ForceNew: true}))
	if s := c.Stats(); s != (e5rt.CompilerStats{Compiles: 2, Hits: 1, Stored: 2}) {
		t.Errorf("the counts are %+v", s)
	}
	other := cached(t, folder, func(context.Context, string, *e5rt.CompilerOptions) (pair.Pair, error) {
		return pair.Pair{}, errors.New("lowered again")
	})
	got[*e5rt.ProgramLibrary](t)(other.Compile(ctx, "testdata/tiny.mil", nil))
	if n := len(entries(t, folder)); n != 1 {
		t.Errorf("the folder has %d files, want the entry alone", n)
	}
	bare := cached(t, "", compileModel)
	for range 2 {
		got[*e5rt.ProgramLibrary](t)(bare.Compile(ctx, "testdata/accumulator.mil", nil))
	}
	if s := bare.Stats(); s.Compiles != 2 || s.Hits != 0 {
		t.Errorf("without a cache the counts are %+v", s)
	}
}

// Everything that can change a byte changes the key, and nothing else does.
func TestCacheKeyDependsOnTheOptions(t *testing.T) {
	ctx := context.Background()
	type model struct {
		base, version string
		files         map[string]string
		o             e5rt.CompilerOptions
	}
	mil := `x = const()[val = tensor<fp16, [4]>(BLOBFILE(path = string("@model_path/weights/w.bin"), offset = ` +
		`uint64(64)))];`
	key := func(change func(m *model)) pair.Key {
		m := &model{
			base:    "model.mil",
			version: "1",
			files:   map[string]string{"weights/w.bin": "weights", "other.txt": "unread"},
		}
		m.files["model.mil"] = mil
		if change != nil {
			change(m)
		}
		dir := t.TempDir()
		for name, text := range m.files {
			check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777))
			check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
		}
		c := got[*e5rt.Compiler](t)(newRuntime(t, e5rt.Options{}).NewCompiler(e5rt.CompilerConfig{
			Compile: tinyFunc,
			Folder:  dir,
			Version: m.version,
		}))
		return got[pair.Key](t)(c.Key(ctx, filepath.Join(dir, m.base), &m.o))
	}
	seen := map[pair.Key]string{key(nil): "the model itself"}
	for name, change := range map[string]func(m *model){
		"the text":            func(m *model) { m.files["model.mil"] += " " },
		"the weights":         func(m *model) { m.files["weights/w.bin"] = "Weights" },
		"weights gone":        func(m *model) { delete(m.files, "weights/w.bin") },
		"empty weights":       func(m *model) { m.files["weights/w.bin"] = "" },
		"the model's name":    func(m *model) { m.files["b.mil"], m.base = mil, "b.mil" },
		"the name given":      func(m *model) { m.o.InputName = "c.mil" },
		"the version":         func(m *model) { m.version = "2" },
		"the target":          func(m *model) { m.o.Target = "h14" },
		"the precision":       func(m *model) { m.o.Precision = "fp16" },
		"the place":           func(m *model) { m.o.Place = "engine" },
		"split constants":     func(m *model) { m.o.SplitKernel = true },
		"whole tasks":         func(m *model) { m.o.FullTD = true },
		"the function":        func(m *model) { m.o.Func = "main" },
		"a shape":             func(m *model) { m.o.Shapes = []map[string][]int64{{"x": {1}}} },
		"another shape":       func(m *model) { m.o.Shapes = []map[string][]int64{{"x": {2}}} },
		"an option":           func(m *model) { m.o.Extra = map[string]string{"a": "b"} },
		"the folder as model": func(m *model) { m.base = "." },
	} {
		k := key(change)
		if same, ok := seen[k]; ok {
			t.Errorf("%s has the key of %s", name, same)
		}
		seen[k] = name
	}
	for name, change := range map[string]func(m *model){
		"a file that is not of the model": func(m *model) { m.files["other.txt"] = "changed" },
		"ForceNew":                        func(m *model) { m.o.ForceNew = true },
		"the name that it has":            func(m *model) { m.o.InputName = "model.mil" },
		"no shapes":                       func(m *model) { m.o.Shapes = []map[string][]int64{} },
	} {
		if seen[key(change)] != "the model itself" {
			t.Errorf("%s changes the key", name)
		}
	}
}

// Every option of zinc's compiler is part of the key, or changes no byte.
func TestCompilerOptionsCoverTheCompilers(t *testing.T) {
	mine := reflect.TypeFor[e5rt.CompilerOptions]()
	noByte := map[string]string{
		"Workers": "bytes do not depend on it", "Provenance": "a file beside the pair", "Observe": "a callback",
		"Progress":   "a callback",
		"Store":      "a place for the same bytes",
		"PrintAfter": "printing", "PrintChanged": "printing", "VerifyEach": "checking", "Log": "printing",
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[compile.Options]()) {
		if _, ok := mine.FieldByName(f.Name); !ok && noByte[f.Name] == "" {
			t.Errorf("compile.Options.%s is no field of CompilerOptions: can it change a byte?", f.Name)
		}
	}
}

// A hostile or broken entry is compiled again and replaced; nothing outside the folder
// is touched.
func TestHostileCacheEntriesAreCompiledAgain(t *testing.T) {
	ctx := context.Background()
	good, err := tiny()
	check(t, err)
	const header = 88
	put := func(f func(b []byte) []byte) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			b := got[[]byte](t)(os.ReadFile(path))
			check(t, os.WriteFile(path, f(b), 0o666))
		}
	}
	for name, spoil := range map[string]func(t *testing.T, path string){
		"empty":      put(func(b []byte) []byte { return nil }),
		"header cut": put(func(b []byte) []byte { return b[:header-1] }),
		"body cut":   put(func(b []byte) []byte { return b[:len(b)-1] }),
		"longer":     put(func(b []byte) []byte { return append(b, 0) }),
		"magic":      put(func(b []byte) []byte { b[0]++; return b }),
		"key":        put(func(b []byte) []byte { b[8]++; return b }),
		"a bit":      put(func(b []byte) []byte { b[header+len(b)/2] ^= 4; return b }),
		"checksum":   put(func(b []byte) []byte { b[56]++; return b }),
		"lengths that wrap": put(func(b []byte) []byte {
			n := uint64(len(b) - header)
			binary.LittleEndian.PutUint64(b[40:], 1<<63+n)
			binary.LittleEndian.PutUint64(b[48:], 1<<63)
			return b
		}),
		"lengths that are swapped": put(func(b []byte) []byte {
			binary.LittleEndian.PutUint64(b[40:], uint64(len(good.Descriptor)))
			binary.LittleEndian.PutUint64(b[48:], uint64(len(good.Container)))
			return b
		}),
		"a terabyte of nothing": func(t *testing.T, path string) {
			if err := os.Truncate(path, 1<<40); err != nil {
				t.Skip(err)
			}
		},
		"a folder": func(t *testing.T, path string) {
			check(t, os.Remove(path))
			check(t, os.Mkdir(path, 0o777))
		},
		"a link outside": func(t *testing.T, path string) {
			outside := filepath.Join(t.TempDir(), "precious")
			check(t, os.WriteFile(outside, []byte("precious"), 0o666))
			check(t, os.Remove(path))
			if err := os.Symlink(outside, path); err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() {
				if b, err := os.ReadFile(outside); err != nil || string(b) != "precious" {
					t.Errorf("the file outside holds %q, %v", b, err)
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			got[*e5rt.ProgramLibrary](t)(cached(t, folder, tinyFunc).Compile(ctx, "testdata/accumulator.mil", nil))
			path := entries(t, folder)[0]
			spoil(t, path)
			c := cached(t, folder, tinyFunc)
			if !got[bool](t)(c.IsNewCompileRequired(ctx, "testdata/accumulator.mil", nil)) {
				t.Error("no new compilation is required")
			}
			l := got[*e5rt.ProgramLibrary](t)(c.Compile(ctx, "testdata/accumulator.mil", nil))
			if s := c.Stats(); l.FromCache() || s.Compiles != 1 || s.Refused != 2 || s.Hits != 0 || s.Stored+
				s.Unstored != 1 {
				t.Errorf("from the cache %t, counts %+v", l.FromCache(), s)
			}
			if name == "a folder" { // it stays; the library is good all the same
				if s := c.Stats(); s.Unstored != 1 || s.StoreErr == nil {
					t.Errorf("the counts are %+v", s)
				}
			} else if l := got[*e5rt.ProgramLibrary](t)(cached(t, folder, mustNotCompile(t)).
				Compile(ctx, "testdata/accumulator.mil", nil)); !l.FromCache() {
				t.Error("the entry was not replaced")
			}
			if n := len(entries(t, folder)); n != 1 {
				t.Errorf("%d files in the folder", n)
			}
		})
	}
	// An entry that is whole, of bytes that are no pair.
	folder := t.TempDir()
	check(t, e5rt.WriteEntry(folder, got[pair.Key](t)(cached(t, folder, tinyFunc).Key(ctx, "testdata/accumulator.mil",
		nil)), pair.Pair{
		Container:  good.Container,
		Descriptor: []byte("no descriptor"),
	}))
	c := cached(t, folder, tinyFunc)
	got[*e5rt.ProgramLibrary](t)(c.Compile(ctx, "testdata/accumulator.mil", nil))
	if s := c.Stats(); s.Refused != 1 || s.Compiles != 1 || s.Stored != 1 {
		t.Errorf("an entry that is no pair: %+v", s)
	}
}

// mustNotCompile is a compiler that must not be called.
func mustNotCompile(t testing.TB) e5rt.CompileFunc {
	return func(context.Context, string, *e5rt.CompilerOptions) (pair.Pair, error) {
		t.Error("lowered")
		return tiny()
	}
}

// A folder that cannot be written costs the entry, not the library.
func TestCacheUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, 0o666))
	c := cached(t, filepath.Join(file, "folder"), tinyFunc)
	got[*e5rt.ProgramLibrary](t)(c.Compile(context.Background(), "testdata/accumulator.mil", nil))
	if s := c.Stats(); s.Compiles != 1 || s.Unstored != 1 || s.StoreErr == nil {
		t.Errorf("the counts are %+v", s)
	}
}

// A model that changes while it is compiled is not stored under the key of its old content.
func TestCacheChangedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.mil")
	check(t, os.WriteFile(path, []byte("one"), 0o666))
	c := cached(t, filepath.Join(dir, "cache"), func(context.Context, string, *e5rt.CompilerOptions) (pair.Pair,
		error) {
		check(t, os.WriteFile(path, []byte("two"), 0o666))
		return tiny()
	})
	got[*e5rt.ProgramLibrary](t)(c.Compile(context.Background(), path, nil))
	if s := c.Stats(); s.Stored != 0 || s.Unstored != 1 || !strings.Contains(fmt.Sprint(s.StoreErr), "changed while") {
		t.Errorf("the counts are %+v", s)
	}
}

// Concurrent calls for one model lower it once; a call that is cancelled does not cancel the others.
func TestCompileTogether(t *testing.T) {
	var calls atomic.Int32
	begun, hold := make(chan struct{}), make(chan struct{})
	c := cached(t, t.TempDir(), func(ctx context.Context, path string, o *e5rt.CompilerOptions) (pair.Pair, error) {
		if calls.Add(1) == 1 {
			close(begun)
			<-ctx.Done()
			return pair.Pair{}, ctx.Err()
		}
		<-hold
		return tiny()
	})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := c.Compile(ctx, "testdata/accumulator.mil", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("the call that was cancelled: %v", err)
		}
	})
	<-begun
	var hits atomic.Int32
	for range 6 {
		wg.Go(func() {
			l, err := c.Compile(context.Background(), "testdata/accumulator.mil", nil)
			if err != nil {
				t.Error(err)
			} else if l.FromCache() {
				hits.Add(1)
			}
		})
	}
	cancel()
	close(hold)
	wg.Wait()
	if s := c.Stats(); s.Compiles != 2 || s.Hits != 5 || hits.Load() != 5 {
		t.Errorf("%d libraries from the cache, counts %+v", hits.Load(), s)
	}
}

const processFolder = "ZINC_E5RT_TEST_CACHE"

// TestCacheOfManyProcesses runs itself in several processes over one folder.
func TestCacheOfManyProcesses(t *testing.T) {
	if folder := os.Getenv(processFolder); folder != "" {
		for range 20 {
			c := cached(t, folder, tinyFunc)
			l := got[*e5rt.ProgramLibrary](t)(c.Compile(context.Background(), "testdata/accumulator.mil", nil))
			want, err := tiny()
			check(t, err)
			if !reflect.DeepEqual(l.Pair(), want) {
				t.Error("another pair")
			}
			if s := c.Stats(); s.Refused != 0 || s.Unstored != 0 {
				t.Errorf("the counts are %+v", s)
			}
			// So that there is something to compile, and to write, again; another process
			// may have done it already.
			for _, path := range got[[]string](t)(filepath.Glob(filepath.Join(folder, "*.e5cache"))) {
				if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Error(err)
				}
			}
		}
		return
	}
	folder := t.TempDir()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestCacheOfManyProcesses$", "-test.count=1",
				"-test.timeout=0")
			cmd.Env = append(os.Environ(), processFolder+"="+folder)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wg.Wait()
}
