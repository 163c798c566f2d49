package lower

import (
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
)

// constHalves returns the elements of an fp16 constant as bit patterns.
func constHalves(c *ir.Const) []uint16 {
	out := make([]uint16, len(c.Data)/2)
	for i := range out {
		out[i] = uint16(c.Data[2*i]) | uint16(c.Data[2*i+1])<<8
	}
	return out
}

// planKey names one task's share of a kernel.
type planKey struct {
	k          *weights.Kernel
	first, out int
	ocg        int
	small      bool
}

// stream packs a kernel, adds it to the constant section and points the task's
// lanes at it. Tasks that run the same share over other pixels share the bytes.
// small says that the output is at most 8x8.
func (b *builder) stream(t *td.Task, p weights.Plan, k *weights.Kernel, small bool) {
	if b.trial {
		return
	}
	key := planKey{k: k, first: p.First, out: p.Out, ocg: p.OCGSize, small: small}
	parts, ok := b.packed[key]
	if !ok {
		var err error
		if parts, err = b.pack(t, p, k, small); err != nil {
			b.fail("%v", err)
			return
		}
		b.packed[key] = parts
		b.readsKernel()
	}
	if skips(t, p, k) {
		t.SetBool(td.KernelSkip, true).SetBool(td.SparseFmt, true)
	}
	b.lanes(t, p, k, parts)
}

// streamParts is stream for a kernel that pack lays out.
func (b *builder) streamParts(t *td.Task, p weights.Plan, k *weights.Kernel, pack func() (weights.Parts, error)) {
	parts, err := pack()
	if err != nil {
		b.fail("%v", err)
		return
	}
	b.readsKernel()
	b.lanes(t, p, k, parts)
}

// lanes points a task's cores at their parts of a kernel.
func (b *builder) lanes(t *td.Task, p weights.Plan, k *weights.Kernel, parts weights.Parts) {
	t.Set(td.ActiveNE, log2up(int64(p.Cores))).Set(td.OCGSize, p.OCGSize).SetBool(td.NEBias, k.Bias != nil)
	t.Set(td.ENE, eneMask(p.Cores))
	b.loadParts(t, parts)
}

// skips reports whether a kernel is stored without its zeros: with stride 2 both
// ways, in one output group of an uncut kernel and without a table (recorded;
// other kernels with stride 2 are dense, modelled).
func skips(t *td.Task, p weights.Plan, k *weights.Kernel) bool {
	return t.Get(td.Sx) == 2 && t.Get(td.Sy) == 2 && len(p.Groups) <= 1 && p.Out == k.Out && k.Table == nil
}

func (b *builder) pack(t *td.Task, p weights.Plan, k *weights.Kernel, small bool) (weights.Parts, error) {
	if skips(t, p, k) {
		data, sizes, err := p.PackSkipping(k, small)
		if err != nil {
			return weights.Parts{}, err
		}
		return b.sec.AddParts(data, sizes, func() []weights.Repeat { return p.BodiesLayout(k, data, sizes, false) })
	}
	task := b.shares[k] // equal slices of one kernel are kept apart (recorded)
	b.shares[k]++
	return b.sec.AddSlice(k, b.workers, p, task)
}

// loadParts points the task's lanes at parts of the constant section.
func (b *builder) loadParts(t *td.Task, parts weights.Parts) {
	t.SetBool(td.KernelOn, true).Set(td.KBase0, BarConstants).SetBool(td.KBE0, true)
	idx := len(b.tasks)
	for i, live := range parts.Live {
		t.Set(td.CoeffSize.At(i), int(parts.Size[i]))
		if live {
			t.SetBool(td.CoeffEn.At(i), true).Set(td.CoeffBase.At(i), int(parts.Offset[i]))
			b.relocs[idx] = append(b.relocs[idx], i)
		}
	}
}

// eneMask is the neural-engine enable field: one more than the logarithm of the
// cores (recorded for all five counts; two cores by compiler 4.2.1 alone).
func eneMask(cores int) int { return log2up(int64(cores)) + 1 }

// fillTable points the lanes of a channelwise task of so many channels at a
// lookup table.
func (b *builder) fillTable(t *td.Task, a *weights.Activation, channels int64) {
	t.Set(td.Nonlinear, nonlinTable).Set(td.PostScale, int(a.Scale))
	if b.trial {
		return
	}
	switch a.Table.Mode() {
	case weights.ModePlain, weights.ModeOdd, weights.ModeExp2:
	default:
		b.split[t] = true
	}
	parts, err := b.sec.AddTable(&a.Table, weights.ActiveCores(int(min(channels, td.Lanes))))
	if err != nil {
		b.fail("%v", err)
		return
	}
	b.readsKernel()
	b.loadParts(t, parts)
}

// channelCores sets the cores of a channelwise neural task: as many as the
// result has channels where it is stored (activation, copy and transposition
// cases).
func channelCores(t *td.Task, dst *operand) {
	c := dst.ext[axC]
	if dst.swap { // eight columns at least, as a unit has
		c = max(dst.ext[axW], smallImage)
	}
	cores := weights.ActiveCores(int(min(c, td.Lanes)))
	t.Set(td.ActiveNE, log2up(int64(cores))).Set(td.ENE, eneMask(cores))
}

// useTable notes that op's tasks use a table, for the report.
func (b *builder) useTable(op *ir.Op, a *weights.Activation) {
	if b.trial {
		return
	}
	worst, ok := b.worst[a.Table]
	if !ok {
		worst = a.Worst()
		b.worst[a.Table] = worst
	}
	b.tables = append(b.tables, TableUse{Op: op, Name: op.Def.Name, Abs: worst.Abs, Rel: worst.Rel})
}
