package engine

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/lower/td"
)

// anyMemory returns a window for every request of at most the size of its buffer.
type anyMemory []byte

func (m anyMemory) Window(_ int, _, n int64, _ bool) ([]byte, error) {
	if n > int64(len(m)) {
		return nil, fmt.Errorf("%d bytes of %d", n, len(m))
	}
	return m[:n], nil
}

// compareAccesses executes a task and compares every tensor that the engine looks up by its own table with td.Accesses.
// It returns how many tensors were compared.
func compareAccesses(t *testing.T, e *Engine, task *td.Task, mem Memory) int {
	t.Helper()
	want := td.Accesses(task)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	e.bound = func(f *fields, l layout) {
		i := slices.IndexFunc(want, func(a td.Access) bool { return a.Name == f.name })
		if i < 0 {
			t.Fatalf("the engine binds %s, which is none of the task's accesses", f.name)
		}
		a := &want[i]
		n++
		same := func(what string, engine, table any) {
			t.Helper()
			if engine != table {
				t.Errorf("%s of %s is %v in the engine, %v in td.Accesses", what, f.name, engine, table)
			}
		}
		same("DRAM", f.moved(task), a.InDRAM)
		same("the register's field", f.bar, a.Bar)
		same("the register's enable", f.barEn, a.BarValid)
		var dim td.Extents
		for k, v := range l.dim {
			dim[k] = int64(v)
		}
		same("the shape", dim, a.Extents)
		same("the exchange", l.swap, a.Swapped)
		same("the interleave", l.inter, a.Inter)
		same("the strides", [...]int64{l.group, l.depth, l.plane, l.row}, a.Stride)
		first, size := l.span()
		from, to := a.Span()
		same("the first byte", first, from)
		same("the end", first+size, to)
		positions, columns := l.stored()
		same("the columns", int64(columns), a.Columns)
		same("the planes", int64(positions-1)/l.inter+1, a.Count[td.AxisChannel])
		on := f.onchip(task, l.dim, l.swap)
		chip, ok := a.OnChip(task)
		same("a place in L2", on.row|on.plane|on.depth|on.group != 0 || !a.InDRAM, ok)
		first, size = on.span()
		from, to = chip.Span()
		same("the first byte in L2", first, from)
		same("the end in L2", first+size, to)
		if f == &result {
			cancel() // the last tensor: the work itself is of no interest
		}
	}
	defer func() { e.bound = nil }()
	// A fault stops the task, after the tensors that it has looked up by then.
	_ = e.Step(ctx, td.Placed{Task: task}, mem)
	return n
}

// TestAccessesOfRecordedTasks checks that td.Accesses and the engine, which share no table, find the same tensors in
// every recorded task.
func TestAccessesOfRecordedTasks(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shareddir.Find(t), "oracles", "h13", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded cases: %v", err)
	}
	e := New(Options{L2Bytes: l2Bytes})
	mem := make(anyMemory, 1<<26)
	n, tensors := 0, 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		_, tasks := readRecorded(t, name)
		for i, task := range tasks {
			if !inHalves(task.Task) {
				continue
			}
			tensors += len(td.Accesses(task.Task))
			t.Run(fmt.Sprintf("%s/%d", name, i), func(t *testing.T) {
				n += compareAccesses(t, e, task.Task, mem)
			})
		}
	}
	if n == 0 || n != tensors {
		t.Errorf("the engine looked up %d tensors, td.Accesses has %d", n, tensors)
	}
}

// inHalves reports whether all tensors of a task are fp16: the engine executes no others.
func inHalves(t *td.Task) bool {
	for _, a := range td.Accesses(t) {
		if t.Format(a.Format) != td.FmtFP16 || a.InDRAM && t.Format(a.MemFormat) != td.FmtFP16 {
			return false
		}
	}
	return true
}

// TestAccessesOfRandomTasks does the same with tasks of random extents, places and
// layouts.
func TestAccessesOfRandomTasks(t *testing.T) {
	e := New(Options{L2Bytes: l2Bytes, Workers: 1})
	mem := make(anyMemory, 1<<22)
	r := rand.New(rand.NewPCG(12, 1))
	seen := map[string]int{}
	for i := range 4000 {
		task := randomTask(r)
		n := compareAccesses(t, e, task, mem)
		seen[fmt.Sprintf("type %d, %d tensors", task.Get(td.PlanarType), n)]++
		if t.Failed() {
			t.Fatalf("task %d: %v", i, td.V7.Values(task))
		}
	}
	for _, kind := range []string{"type 0, 2", "type 2, 2", "type 3, 3", "type 4, 3", "type 5, 2", "type 6, 3"} {
		if n := seen[kind+" tensors"]; n < 100 {
			t.Errorf("%s tensors: %d tasks; all: %v", kind, n, seen)
		}
	}
}

func randomTask(r *rand.Rand) *td.Task {
	t := td.New().Set(td.InFmt, 2).Set(td.OutFmt, 2).Set(td.SrcMemFmt, 2).Set(td.DstMemFmt, 2).
		Set(td.PostScale, 0x3c00).Set(td.PEScale, 0x3c00).Set(td.PEPreScale, 0x3c00).Set(td.PEFinal, 0x3f800000)
	ext := func(of ...td.Field) {
		n := r.IntN(8)
		for _, f := range of {
			t.Set(f, n)
		}
	}
	flags := func(fs ...td.Field) {
		for _, f := range fs {
			t.SetBool(f, r.IntN(3) == 0)
		}
	}
	ext(td.Win, td.Wout)
	ext(td.Hin, td.Hout)
	ext(td.Din, td.Dout)
	ext(td.Cin, td.Cout)
	ext(td.NumGroups)
	kind := []int{0, 2, 3, 4, 5, 6}[r.IntN(6)]
	t.Set(td.PlanarType, kind)
	if kind == 0 {
		t.Set(td.NEOp, []int{0, 8, 11, 12}[r.IntN(4)]).SetBool(td.UnicastEn, true)
		flags(td.SwapNE)
		if t.Get(td.NEOp) == 0 {
			t.Set(td.Ox, r.IntN(3)).Set(td.Sx, 2).Set(td.Kw, 1+2*r.IntN(2)).Set(td.NumGroups, 1)
			ext(td.Hout)
			ext(td.Wout)
			if r.IntN(2) == 0 {
				t.SetBool(td.UnicastEn, false)
				ext(td.NumGroups)
				ext(td.Cout)
			}
		}
	} else {
		two := kind == 3 || kind == 4 || kind == 6
		t.SetBool(td.PETwo, two).SetBool(td.Source2DMA, two && r.IntN(2) == 0).Set(td.Src2MemFmt, 2).Set(td.In2Fmt, 2)
		flags(td.SwapResult, td.Swap2, td.Bcast2W, td.Bcast2H, td.Bcast2D, td.Bcast2C)
		if kind >= 5 && r.IntN(3) == 0 {
			t.Set(td.Kw, 1+r.IntN(3)).Set(td.Kh, 1+r.IntN(3)).Set(td.Sx, r.IntN(3)).Set(td.Wout, r.IntN(8))
		} else {
			flags(td.Bcast1W, td.Bcast1H, td.Bcast1D, td.Bcast1C)
		}
	}
	flags(td.SrcEn, td.DstEn, td.Swap1)
	t.Set(td.RBase0, 4).SetBool(td.RBE0, true).Set(td.RBase1, 5).SetBool(td.RBE1, true).Set(td.WBase, 6).
		SetBool(td.WBE, true)
	for _, f := range []td.Field{td.SrcInterleave, td.Src2Interleave, td.DstInterleave} {
		t.Set(f, cmp.Or(r.IntN(6), 1)*r.IntN(2))
	}
	t.Set(td.PixelOffset, r.IntN(4)).Set(td.PixelOffset.At(1), r.IntN(4)).Set(td.TileHeight, r.IntN(8))
	for i, row := range td.Fields() {
		f := td.Field(i)
		if b := row.Place(td.V7).Block; b == td.TileSrc || b == td.TileDst || b == td.L2 {
			if row.Kind == td.Address || row.Kind == td.Size {
				t.Set(f, r.IntN(32)*int(row.Unit))
			}
		}
	}
	return t
}
