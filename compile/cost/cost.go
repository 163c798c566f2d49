package cost

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// Term is one of the causes of time.
type Term int

// The terms. Of equal terms, the first is the bottleneck.
const (
	Dispatch Term = iota // software between caller and engine
	Hand                 // bytes of inputs and outputs between host and engine
	Products             // multiply-accumulates
	DMA                  // bytes between DRAM and L2, coefficients included
	L2                   // bytes into and out of L2
	Terms    = iota
)

var termNames = [Terms]string{"dispatch", "io", "macs", "dma", "l2"}

// String returns the term as reports name it.
func (t Term) String() string { return termNames[t] }

// Split is a time divided by the term that limits it. Its entries add up to the total.
type Split [Terms]Time

// Total adds the terms.
func (s *Split) Total() Time {
	sum := Time(0)
	for _, t := range s {
		sum += t
	}
	return sum
}

// Add adds another split.
func (s *Split) Add(o Split) {
	for i, t := range o {
		s[i] += t
	}
}

// MarshalJSON writes an object from the terms' names to microseconds.
func (s Split) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, t := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%s", Term(i), t)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads such an object.
func (s *Split) UnmarshalJSON(b []byte) error {
	var m map[string]Time
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	for i := range s {
		s[i] = m[Term(i).String()]
	}
	return nil
}

// Binding returns the largest term.
func (s *Split) Binding() Term {
	best := Dispatch
	for i, t := range s {
		if t > s[best] {
			best = Term(i)
		}
	}
	return best
}

// Task is the cost of one task.
type Task struct {
	MACs      int64  // products that the datapath computes, including those with padding
	TileBytes int64  // sources and result, rows padded as in DRAM
	Kernel    Stream // coefficients and tables
	Dense     int64  // bytes of them, coefficients of products that are constants stored as fp16, zeros included
	L2Bytes   int64  // into and out of L2
	L2End     int64  // first byte of L2 after those that the registers name
	Weighty   bool   // a convolution of PartWeights
	// Alone has the time of each term alone; Dispatch is zero.
	Alone  Split
	Time   Time // the largest of them
	Cycles int64
	Bound  Term
}

// Bytes returns the bytes that DMA moves.
func (t *Task) Bytes() int64 { return t.TileBytes + t.Kernel.Bytes }

// Estimate returns the cost of a task: the largest of products at the rate of the enabled cores, DMA bytes at the rate
// of the DMA, and L2 bytes at the banks' rate.
func Estimate(t *td.Task, tab *target.Table) Task {
	if t.On(td.TDSkip) {
		return Task{Bound: L2} // nothing moves
	}
	e := Task{MACs: macs(t), Kernel: Stream{Bytes: kernelBytes(t)}, Bound: Products}
	var all [len(td.Streams)]td.Access // not a slice for each task
	for _, a := range td.AppendAccesses(all[:0], t) {
		l, _ := a.OnChip(t)
		e.TileBytes += tileBytes(&a)
		e.L2Bytes += l2Bytes(&a, &l)
		e.L2End = max(e.L2End, l2End(t, &a, &l))
	}
	if t.Multiplies() && !t.LiveKernel() {
		switch {
		case t.On(td.SparseFmt):
			e.Kernel.Expanded = coefficients(t)
			e.Kernel.Values = max(e.Kernel.Bytes-e.Kernel.Expanded/8, 0) / fp16Bytes
		case t.On(td.PalettizedEn), t.On(td.PostScaleMode):
			e.Kernel.Expanded = coefficients(t)
		case t.Get(td.KernelFmt) == uint32(td.KernelFP16):
			e.Dense = e.Kernel.Bytes
		}
	}
	e.L2End = min(e.L2End, tab.L2Bytes)
	w := e.work(t)
	e.Alone = w.Times(RatesOf(tab), tab)
	e.Weighty = t.Multiplies() && t.Extent(td.Hout) > 1 && t.Extent(td.Wout) > 1 && e.Kernel.Bytes > 2*e.L2Bytes
	e.Bound = e.Alone.Binding()
	if e.Bound == Dispatch {
		e.Bound = L2 // nothing moves
	}
	e.Time = e.Alone[e.Bound]
	e.Cycles = int64(math.Round(float64(e.Time) * clock.Value / 1e9))
	return e
}

// Form is a compressed form of coefficients.
type Form struct {
	Name string // as in target.Table.StreamForms
	Doc  string
	Bits float64 // of a coefficient, which is 16 in fp16
	Kept float64 // share of the coefficients that a mask places, 0 without a mask
}

// Forms are the forms whose size follows from the number of coefficients. Codebooks and scales are left out: at most
// 512 bytes a tensor.
var Forms = []Form{
	{Name: "palette4", Doc: "palettes of 4 bits", Bits: 4},
	{Name: "palette6", Doc: "palettes of 6 bits", Bits: 6},
	{Name: "palette8", Doc: "palettes of 8 bits", Bits: 8},
	{Name: "int8", Doc: "int8 with scales", Bits: 8},
	{Name: "sparse", Doc: "sparse with half of them zero", Bits: 1 + 16*.5, Kept: .5},
}

// In is what the task would move and compute with its dense coefficients in a form.
func (e *Task) In(f *Form, cores int64) TaskWork {
	w := TaskWork{MACs: e.MACs, TileBytes: e.TileBytes, Kernel: e.Kernel, L2Bytes: e.L2Bytes, Cores: cores}
	n := float64(e.Dense) / fp16Bytes
	w.Kernel.Bytes -= e.Dense - int64(n*f.Bits/8)
	w.Kernel.Expanded += int64(n)
	w.Kernel.Values += int64(n * f.Kept)
	return w
}

// Saves is how much less time the task would take on a target with its dense coefficients in a form.
func (e *Task) Saves(f *Form, tab *target.Table) Time {
	w := e.In(f, tab.Cores)
	less := e.Alone
	less[DMA] = w.Times(RatesOf(tab), tab)[DMA]
	return e.Time - less[less.Binding()]
}

// WorkOf returns what a task moves and computes.
func WorkOf(t *td.Task, tab *target.Table) TaskWork {
	e := Estimate(t, tab)
	return e.work(t)
}

func (e *Task) work(t *td.Task) TaskWork {
	return TaskWork{
		MACs:      e.MACs,
		TileBytes: e.TileBytes,
		Kernel:    e.Kernel,
		L2Bytes:   e.L2Bytes,
		Cores:     1 << min(t.Get(td.ActiveNE), 8),
	}
}

// macs returns the number of products of a multiply task.
func macs(t *td.Task) int64 {
	if !t.Multiplies() {
		return 0
	}
	out := t.OutExtents()
	return product(product(out[:]...), terms(t))
}

// terms returns the number of products that a multiply task sums for one number of its result.
func terms(t *td.Task) int64 {
	cin := t.Extent(td.Cin)
	if t.On(td.UnicastEn) {
		cin = 1
	}
	return product(t.Extent(td.Kw), t.Extent(td.Kh), cin)
}

// coefficients returns the number of coefficients of a multiply task.
func coefficients(t *td.Task) int64 {
	return product(t.Extent(td.NumGroups), t.Extent(td.Cout), terms(t))
}

const fp16Bytes = 2

// most is the limit of counts, because products of extents in registers can exceed 64
// bits.
const most = 1 << 50

// product multiplies positive factors, up to most.
func product(factors ...int64) int64 {
	n := int64(1)
	for _, f := range factors {
		if f > most/n {
			return most
		}
		n *= f
	}
	return n
}

// kernelBytes adds the lanes' parts.
func kernelBytes(t *td.Task) int64 {
	n := int64(0)
	for p := range t.LaneParts() {
		n += p.Bytes
	}
	return n
}

// Stage is one part of a dispatch.
type Stage struct {
	Name string `json:"name"` // name of the stage
	Time Time   `json:"us"`   // time of the stage
}
