package lower

import (
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"sync"
)

// constHalves returns the elements of an fp16 constant as bit patterns.
func constHalves(c *ir.Const) []uint16 {
	out := make([]uint16, len(c.Data)/2)
	for i := range out {
		out[i] = uint16(c.Data[2*i]) | uint16(c.Data[2*i+1])<<8
	}
	return out
}

// constants is what the drafts read from the constant section, and what was packed for them.
type constants struct {
	sec    *weights.Section
	packed map[planKey]weights.Parts
	shares map[*weights.Kernel]int // slices of a kernel packed so far
	worst  map[tableKey]func() weights.WorstCase
	tables []TableUse
	consts []ConstantUse
}

func newConstants(sec *weights.Section) constants {
	return constants{
		sec: sec, packed: map[planKey]weights.Parts{}, shares: map[*weights.Kernel]int{},
		worst: map[tableKey]func() weights.WorstCase{},
	}
}

// planKey names one task's share of a kernel.
type planKey struct {
	k          *weights.Kernel
	first, out int
	ocg        int
	small      bool
}

// stream packs a kernel, adds it to the constant section and points the draft, which was emitted, at it. Tasks that
// apply the same share to other pixels share the bytes. skip reports that the kernel is stored without its zeros.
func (b *builder) stream(d *draft, p weights.Plan, k *weights.Kernel, skip bool) {
	if b.trial || b.err != nil {
		return
	}
	small := d.smallUnits()
	key := planKey{k: k, first: p.First, out: p.Out, ocg: p.OCGSize, small: small}
	parts, ok := b.packed[key]
	if !ok {
		var err error
		if parts, err = b.pack(p, k, small, skip); err != nil {
			b.fail("%w", err)
			return
		}
		b.packed[key] = parts
		b.readsKernel()
	}
	d.reads(p, k, parts)
	d.kernel.skip, d.kernel.filled = skip, skip && !k.Sparse
}

// streamParts is stream for a kernel that pack lays out.
func (b *builder) streamParts(d *draft, p weights.Plan, k *weights.Kernel, pack func() (weights.Parts, error)) {
	parts, err := pack()
	if err != nil {
		b.fail("%w", err)
		return
	}
	b.readsKernel()
	d.reads(p, k, parts)
}

// reads points the draft's cores at their parts of a kernel.
func (d *draft) reads(p weights.Plan, k *weights.Kernel, parts weights.Parts) {
	d.cores = p.Cores
	d.kernel = &kernelUse{
		parts: &parts, ocgSize: p.OCGSize, bias: k.Bias != nil, bits: k.Book.Bits(),
		scaled: k.Scales != nil,
	}
}

// skips reports whether a kernel is stored without its zeros: a sparse one, and one with stride 2 both ways and without
// a table (recorded, in several output groups too: case conv_probe_k3_c128_n1024_s16_st2_g1_bias0_same, and cut: case
// conv_probe_k3_c256_n256_s32_st2_g1_bias0_same; with a table it is dense, modelled).
func skips(w *window, k *weights.Kernel) bool {
	return k.Sparse || k.Rewritten() || w.sx == 2 && w.sy == 2 && k.Table == nil
}

func (b *builder) pack(p weights.Plan, k *weights.Kernel, small, skip bool) (weights.Parts, error) {
	if skip {
		p.WideMasks = b.codec.WideMasks
		data, sizes, err := p.PackSkipping(k, small)
		if err != nil {
			return weights.Parts{}, err
		}
		return b.sec.AddParts(data, sizes, func() []weights.Repeat { return p.BodiesLayout(k, data, sizes, false) })
	}
	task := b.shares[k] // equal slices of one kernel are stored separately (recorded)
	b.shares[k]++
	return b.sec.AddSlice(k, p, task)
}

// fillTable sets the lookup table of a channelwise draft with a number of channels.
func (b *builder) fillTable(d *draft, a *weights.Activation, channels int64) {
	d.table, d.ne.act, d.ne.scale = a, td.NonlinTable, weights.FromFP16(a.Scale)
	if b.trial {
		return
	}
	lanes := 1
	if !b.codec.TableApart {
		lanes = weights.ActiveCores(int(channels))
	}
	parts, err := b.sec.AddTable(&a.Table, lanes)
	if err != nil {
		b.fail("%w", err)
		return
	}
	b.readsKernel()
	d.kernel = &kernelUse{parts: &parts}
}

// tableKey is what the error of a table depends on. Tables with the same words may compute different functions, since
// factors before and after a table are not part of it.
type tableKey struct {
	function     string
	table        weights.Table
	scale, after uint16
	low, high    float64
}

// fixedWorst has the functions that return the worst errors of the tables of functions without parameters, which are
// few: finding one compares 65,536 numbers.
var fixedWorst sync.Map

// worstOf returns a function that returns the worst error of a table, and finds it when it is first called. Tables of
// functions with parameters are remembered as long as the builder.
func (b *builder) worstOf(a *weights.Activation) func() weights.WorstCase {
	key := tableKey{
		function: a.Function,
		table:    a.Table,
		scale:    a.Scale,
		after:    a.After,
		low:      a.Low,
		high:     a.High,
	}
	if w, ok := fixedWorst.Load(key); ok {
		return w.(func() weights.WorstCase)
	}
	w, ok := b.worst[key]
	if !ok {
		w = sync.OnceValue(a.Worst)
	}
	switch {
	case a.Fixed:
		other, _ := fixedWorst.LoadOrStore(key, w)
		return other.(func() weights.WorstCase)
	case a.Function != "":
		b.worst[key] = w
	}
	return w
}

// useTable records that op's tasks use a table.
func (b *builder) useTable(op *ir.Op, a *weights.Activation) {
	if b.trial {
		return
	}
	b.tables = append(b.tables, TableUse{
		Op:    op,
		Name:  op.Def.Name,
		Worst: b.worstOf(a),
		Table: a,
	})
}
