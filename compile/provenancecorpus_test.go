package compile_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// corpusModels returns the models of the shared corpus by name.
func corpusModels(t *testing.T, shared string) map[string]string {
	t.Helper()
	es, err := os.ReadDir(filepath.Join(shared, "corpus"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range es {
		dir := filepath.Join(shared, "corpus", e.Name())
		_, err := os.Stat(filepath.Join(dir, "model.mil"))
		if err == nil || filepath.Ext(e.Name()) == ".mlpackage" {
			out[e.Name()] = dir
		}
	}
	return out
}

// bigModel is compiled in one precision only: its weights are 213 MB.
const bigModel = "parakeet-eou-encoder-1280ms"

// TestProvenanceOfCorpus checks for every model of the corpus, in both precisions, that each byte of the task section
// and of the constants, each surface and each operation of the descriptor has a line of the source, a pass and a rule,
// and that bytes called padding are zeros. The test queries the file that was written, about bytes that were written.
func TestProvenanceOfCorpus(t *testing.T) {
	shared := shareddir.Find(t)
	for name, dir := range corpusModels(t, shared) {
		t.Run(name, func(t *testing.T) {
			if filepath.Ext(dir) != ".mlpackage" {
				dir = shareddir.WithWeights(t, shared, dir)
			}
			for _, precision := range []string{"declared", "fp16"} {
				if name == bigModel && precision == "fp16" {
					continue
				}
				t.Run(precision, func(t *testing.T) {
					m, err := frontend.Open(dir, frontend.Options{})
					if err != nil {
						t.Fatal(err)
					}
					defer m.Close()
					r, err := compile.All(context.Background(), m.Program, compile.Options{
						Target:      target.H13,
						Provenance:  true,
						SplitKernel: precision == "fp16",
						Precision:   precision,
					})
					if err != nil {
						t.Fatal(err)
					}
					var file, zdb bytes.Buffer
					if _, err := r.HWX.WriteTo(&file); err != nil {
						t.Fatal(err)
					}
					if err := r.Provenance.Write(&zdb); err != nil {
						t.Fatal(err)
					}
					f, err := hwx.Read(file.Bytes())
					if err != nil {
						t.Fatal(err)
					}
					db, err := provenance.Read(zdb.Bytes())
					if err != nil {
						t.Fatal(err)
					}
					if db.SHA256 != sha256.Sum256(file.Bytes()) {
						t.Error("the database is of another container")
					}
					a := &asked{t: t, db: db, known: map[provenance.Ref]bool{}}
					a.text(f)
					a.constants(f)
					a.surfaces(f)
					a.operations(r.E5)
					t.Logf("%d bytes of tasks, of them %d padding; %d of constants, of them %d padding; %d "+
						"unmapped; database %d bytes", len(f.TextBytes()), a.textPadding, len(f.ConstantBytes()),
						a.constPadding, a.unmapped, zdb.Len())
					if a.unmapped > 0 {
						t.Errorf("%d bytes are mapped to nothing", a.unmapped)
					}
				})
			}
		})
	}
}

// asked counts the answers of a database.
type asked struct {
	t                         *testing.T
	db                        *provenance.DB
	known                     map[provenance.Ref]bool
	unmapped                  uint64
	textPadding, constPadding uint64
}

// full reports whether a Ref has lines, passes and a rule.
func (a *asked) full(r provenance.Ref) bool {
	ok, asked := a.known[r]
	if asked {
		return ok
	}
	s := a.db.Source(r)
	ok = len(s.Statements) > 0 && len(s.Passes) > 0 && s.Rule != ""
	for _, i := range append(s.Statements, s.Users...) {
		st := &a.db.Statements[i]
		ok = ok && st.Line > 0 && a.db.File(st) != "" && st.Op != ""
	}
	a.known[r] = ok
	if !ok {
		a.t.Errorf("an answer without a line, a pass or a rule: %+v", s)
	}
	return ok
}

// hit checks one stretch and returns where it ends.
func (a *asked) hit(h provenance.Hit, at uint64, data []byte, where string) uint64 {
	if h.Offset != at || h.Size == 0 || h.Offset+h.Size > uint64(len(data)) {
		a.t.Fatalf("%s: stretch of %d bytes at %#x, the one before ends at %#x, there are %#x", where, h.Size, h.Offset,
			at, len(data))
	}
	ok := len(h.Refs) > 0
	for _, r := range h.Refs {
		ok = a.full(r) && ok
	}
	if h.What == provenance.RolePadding || h.What == provenance.RoleReserved {
		for i, b := range data[h.Offset : h.Offset+h.Size] {
			if b != 0 {
				a.t.Fatalf("%s: byte %#x is %#x and called %s", where, h.Offset+uint64(i), b, h.What)
			}
		}
	} else if !ok {
		a.unmapped += h.Size
	}
	return h.Offset + h.Size
}

func (a *asked) text(f *hwx.File) {
	text := f.TextBytes()
	isTask := make([]bool, len(text))
	tasks := 0
	for _, p := range f.Procedures() {
		section, off, ok := f.Text().Of(p)
		if !ok {
			a.t.Fatalf("procedure %s is not in the task section", p.Name)
		}
		chain, err := td.V7.DecodeChain(section, off, p.FirstWords)
		if err != nil {
			a.t.Fatal(err)
		}
		for i, x := range chain {
			for k := range 4 * x.Words() {
				isTask[x.Off+k] = true
			}
			tasks++
			n, err := a.db.Task(p.Name, i)
			if err != nil || a.db.Tasks[n].Offset != uint64(x.Off) || a.db.TaskAt(uint64(x.Off+8)) != n {
				a.t.Fatalf("task %d of %s at %#x: the database has task %d (%v)", i, p.Name, x.Off, n, err)
			}
			a.links(f, p, x, n)
		}
	}
	if tasks != len(a.db.Tasks) {
		a.t.Errorf("%d tasks, the database has %d", tasks, len(a.db.Tasks))
	}
	at := uint64(0)
	for _, h := range a.db.Text(0, uint64(len(text))) {
		for i := h.Offset; i < h.Offset+h.Size; i++ {
			if isTask[i] != (h.What == provenance.WhatTask) {
				a.t.Fatalf("byte %#x of the task section is called %s", i, h.What)
			}
		}
		if h.What == provenance.RolePadding {
			a.textPadding += h.Size
		}
		at = a.hit(h, at, text, "task section")
	}
	a.unmapped += uint64(len(text)) - at
}

// links checks every word of a task, and that the words which the database calls addresses contain what it says.
func (a *asked) links(f *hwx.File, p hwx.Procedure, x td.Placed, n int) {
	ws, err := td.V7.EncodeWords(x.Task)
	if err != nil {
		a.t.Fatal(err)
	}
	for i := range ws {
		w, err := a.db.Word(n, i)
		if err != nil || w.Offset != uint64(x.Off+4*i) || !a.full(w.Ref) {
			a.t.Fatalf("word %d of the task at %#x: %+v %v", i, x.Off, w, err)
		}
		if w.Link == nil {
			continue
		}
		switch w.Link.Kind {
		case provenance.LinkSurface:
			s := a.db.Surfaces[w.Link.Target]
			if s.Address != 0 && a.db.Procedures[s.Procedure].Name != p.Name {
				a.t.Errorf("word %d of a task of %s points at surface %s of another procedure", i, p.Name, s.Name)
			}
		case provenance.LinkConstant, provenance.LinkTask:
			if uint64(ws[i]) != w.Link.Target {
				a.t.Errorf("word %d of the task at %#x is %#x, the database says that it points at %s %#x", i, x.Off,
					ws[i], w.Link.Kind, w.Link.Target)
			}
		}
	}
	if x.On(td.KernelOn) {
		for lane := range td.Lanes {
			k, ok := td.V7.WordIndex(x.Task, td.CoeffBase.At(lane))
			if !ok || !x.On(td.CoeffEn.At(lane)) {
				continue
			}
			w, _ := a.db.Word(n, k)
			if w.Link == nil {
				a.t.Errorf("the task at %#x reads coefficients on lane %d, the database knows no address there", x.Off,
					lane)
			}
		}
	}
}

func (a *asked) constants(f *hwx.File) {
	data := f.ConstantBytes()
	at := uint64(0)
	a.db.Constants(0, uint64(len(data)), func(h provenance.Hit) bool {
		if h.What == provenance.RolePadding || h.What == provenance.RoleReserved {
			a.constPadding += h.Size
		}
		if h.Extent < 0 && len(a.db.Extents) > 0 {
			a.t.Errorf("%d bytes at %#x are in no extent", h.Size, h.Offset)
		}
		at = a.hit(h, at, data, "constants")
		return true
	})
	a.unmapped += uint64(len(data)) - at
}

func (a *asked) surfaces(f *hwx.File) {
	ports := f.Ports()
	if len(ports) != len(a.db.Surfaces) {
		a.t.Errorf("%d surfaces, the database has %d", len(ports), len(a.db.Surfaces))
	}
	for _, p := range ports {
		i := a.db.Surface(p.Name)
		if i < 0 || a.db.Surfaces[i].Address != uint64(p.Addr) || !a.full(a.db.Surfaces[i].Ref()) {
			a.t.Errorf("surface %s at %#x: the database has it at index %d", p.Name, p.Addr, i)
		}
	}
}

func (a *asked) operations(p *e5.Program) {
	n := 0
	for i := range p.Functions {
		f := &p.Functions[i]
		k := 0
		for _, b := range f.Blocks {
			for _, op := range b.Operations {
				x := slices.IndexFunc(a.db.Operations, func(o provenance.Operation) bool {
					return o.Func == f.Name && int(o.Index) == k
				})
				if x < 0 || a.db.Operations[x].Name != op.Name || a.db.Operations[x].Kind != op.Type.String() {
					a.t.Fatalf("operation %d of %s is %s, the database has %d", k, f.Name, op.Name, x)
				}
				o := &a.db.Operations[x]
				if !a.full(o.Ref()) {
					a.t.Errorf("operation %s of %s", op.Name, f.Name)
				}
				k++
				n++
			}
		}
	}
	if n != len(a.db.Operations) {
		a.t.Errorf("%d operations, the database has %d", n, len(a.db.Operations))
	}
}
