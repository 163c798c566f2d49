package engine

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/numerics/field"
	"github.com/zinc-compiler/zinc/runtime/sim/engine/port"
)

// cellBuffers are the buffers of registers, as cells.
type cellBuffers map[int]*Cells

func (m cellBuffers) Cells(bar int, off, n int64, _ bool) (*Cells, int64, error) {
	c := m[bar]
	if c == nil || off+n > c.Size() {
		return nil, 0, fmt.Errorf("register %d has no bytes %#x to %#x", bar, off, off+n)
	}
	return c, off, nil
}

// cellsOf returns memory that contains fp16 numbers.
func cellsOf(b []byte) *Cells {
	c := NewCells("memory", int64(len(b)), false)
	for i := 0; i+1 < len(b); i += 2 {
		c.Put(int64(i), false, field.FP16Elements()[binary.LittleEndian.Uint16(b[i:])], 0)
	}
	return c
}

// TestExactIsTheEngineWhereNothingRounds runs tasks on small integers, which are exact in fp16: the elements that Exact
// leaves in memory are the numbers that Engine leaves there.
func TestExactIsTheEngineWhereNothingRounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	integers := func(b []byte) {
		for i := 0; i+1 < len(b); i += 2 {
			binary.LittleEndian.PutUint16(b[i:], port.Narrow(float32(r.IntN(7)-3)))
		}
	}
	for _, c := range []struct {
		name  string
		alter func(task *td.Task)
	}{
		{"product", func(*td.Task) {}},
		{"bias and factor", func(task *td.Task) { task.Set(td.AccBias, 0x4200).Set(td.PostScale, 0xc000) }},
		{"swapped source", func(task *td.Task) { task.Set(td.SwapNE, 1).Set(td.DstRow, 64).Set(td.DstPlane, 256) }},
		{"to L2", func(task *td.Task) { task.Set(td.L2SrcRow, 64).Set(td.L2SrcCh, 256) }},
		{"padding", func(task *td.Task) { task.Set(td.Px, 2) }},
		{"sum of channels", func(task *td.Task) {
			task.Set(td.NEOp, opSum).Set(td.Cout, 1).Set(td.Kw, 1).Set(td.Px, 0)
		}},
		{"pass", func(task *td.Task) { task.Set(td.NEOp, opPass).Set(td.Cout, 16).Set(td.Kw, 1).Set(td.Px, 0) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			task, mem := kernelTask(16, 16, 4, 9, 3)
			c.alter(task)
			mem[4] = make([]byte, 1<<14)
			integers(mem[1])
			integers(mem[5])
			step(t, New(Options{L2Bytes: l2Bytes}), task, mem)
			cells := cellBuffers{1: ConstantCells("constants", mem[1]), 4: NewCells("result", int64(len(mem[4])), true),
				5: cellsOf(mem[5])}
			e := NewExact(ExactOptions{Options: Options{L2Bytes: l2Bytes}, Field: field.New(1)})
			if err := e.Run(t.Context(), []td.Placed{{Task: task}}, cells, 7); err != nil {
				t.Fatal(err)
			}
			written := 0
			for i := 0; i < len(mem[4]); i += 2 {
				if cells[4].Writer(int64(i)) == 0 {
					continue
				}
				written++
				want := field.Number(float64(port.Widen(binary.LittleEndian.Uint16(mem[4][i:]))))
				if got := cells[4].Get(int64(i), false); got != want || cells[4].Writer(int64(i)) != 7 {
					t.Fatalf("at %#x is %d by task %d, want %d by task 7", i, got, cells[4].Writer(int64(i)), want)
				}
			}
			if written < 36 {
				t.Errorf("%d elements were written", written)
			}
		})
	}
}

// TestCellsKnowTheirTypes checks that elements read with another type differ from those that were written.
func TestCellsKnowTheirTypes(t *testing.T) {
	c := NewCells("memory", 16, true)
	c.Put(4, false, 42, 1)
	if c.Get(4, false) != 42 || c.Get(4, true) == 42 || c.Get(5, true) == 42 || c.Get(6, false) == c.Get(8, false) {
		t.Error("an element is read as another type, or two undefined elements are equal")
	}
	c.Put(5, true, 43, 2)
	if c.Get(4, false) == 42 || c.Get(5, true) != 43 || c.Writer(5) != 2 {
		t.Error("an element is not gone when a byte of it is written")
	}
	c.Put(4, false, 44, 3)
	if c.Get(5, true) == 43 || c.Get(4, false) != 44 {
		t.Error("a byte is not gone when an element of two bytes is written over it")
	}
}
