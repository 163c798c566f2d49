package compile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// Element codes of the container: for fp16, and for the bytes that booleans are stored as.
const (
	elementFP16  = 5
	elementUint8 = 3
)

// taskWriter puts the tasks of one procedure into the image as they are lowered.
type taskWriter struct {
	d     *driver
	chain *td.ChainWriter
	entry hwx.Entry
	later int // operations of the procedures after this one, which have about as many tasks
	see   emitFunc
}

// emitFunc is a lower.Segment.Emit.
type emitFunc = func(t *td.Task, relocs []int, follow int) error

// taskWriter returns a writer of the tasks of a procedure. see, if not nil, is also called for each task.
func (d *driver) taskWriter(name string, later int, see emitFunc) *taskWriter {
	chain := d.codec.NewChainWriter(d.image.Text)
	return &taskWriter{d: d, chain: chain, entry: hwx.Entry{Name: name}, later: later, see: see}
}

// add is an emitFunc.
func (w *taskWriter) add(t *td.Task, relocs []int, follow int) error {
	if w.entry.Tasks == 0 {
		w.chain.Reserve(1 + follow + w.later)
	}
	off, err := w.chain.Add(t, follow == 0)
	if err != nil {
		return err
	}
	if w.entry.Tasks == 0 {
		w.entry.Offset, w.entry.FirstWords = uint64(off), uint32(w.d.codec.Words(t))
	}
	w.entry.Tasks++
	w.d.prov.task(t, off, follow)
	if w.d.o.OperationSymbols {
		w.d.image.Operations = append(w.d.image.Operations, hwx.Operation{Name: workOf(t), Offset: uint64(off)})
	}
	if w.see != nil {
		if err := w.see(t, relocs, follow); err != nil {
			return err
		}
	}
	if !w.d.codec.Relocated() {
		return nil
	}
	for _, lane := range relocs {
		i, ok := w.d.codec.WordIndex(t, td.CoeffBase.At(lane))
		if !ok {
			return cmp.Or(w.d.codec.Fits(t), fmt.Errorf("the task does not write lane %d", lane))
		}
		w.entry.Relocs = append(w.entry.Relocs, uint32(off+4*i))
	}
	return nil
}

// workOf returns what chapter 23 calls the two tasks of its linear layer: a copy into another layout, and a product
// with the kernel. Other tasks are named by the rule that lowered them.
func workOf(t *td.Task) string {
	switch {
	case t.NeuralOp() == td.NEPass && !t.On(td.Nonlinear):
		return "layout-convert"
	case t.Multiplies() && t.Get(td.Kw) <= 1 && t.Get(td.Kh) <= 1:
		return "matrix-multiply"
	}
	return ""
}

// end adds the procedure to the image.
func (w *taskWriter) end(p *lower.Procedure) (err error) {
	d := w.d
	if d.image.Text, err = w.chain.End(); err != nil {
		return fmt.Errorf("procedure %s: %w", p.Name, err)
	}
	d.image.Procedures = append(d.image.Procedures, w.entry)
	if d.o.OperationSymbols {
		of := d.image.Operations[len(d.image.Operations)-len(p.Infos):]
		for i, info := range p.Infos {
			of[i].Name = cmp.Or(of[i].Name, info.Rule)
			if info.Op != nil && len(info.Op.Results) > 0 {
				of[i].Name = info.Op.Results[0].Name + ":" + of[i].Name
			}
		}
	}
	d.surfaces(&d.image.Procedures[len(d.image.Procedures)-1], p)
	return nil
}

// container assembles the hardware container of all procedures, whose tasks are in the image.
func (d *driver) container() (*hwx.File, error) {
	img := d.image
	img.CPUSubtype, img.Split, img.Banner = d.o.Target.Subtype, d.splitsConstants(), d.banner()
	if d.o.TextFirst {
		img.Layout = hwx.TextFirst
	}
	if d.sec.Size() > 0 {
		img.Stream = &d.sec
	}
	for _, u := range d.units {
		steps := u.enginePartitions()
		for i, p := range u.procs {
			d.prov.procedure(u, p, steps[i])
		}
	}
	if len(img.Procedures) == 0 {
		if err := d.idle(img); err != nil {
			return nil, err
		}
		d.prov.idle(img, d.units[0])
	}
	for _, s := range d.sec.Symbols() {
		img.Kernels = append(img.Kernels, hwx.Kernel{Name: s.Name, Offset: uint64(s.Offset), Live: s.Live})
	}
	f, _, err := hwx.Build(img)
	return f, d.spaceError(err)
}

// addresses records where the container's windows are in the engine's map.
func (d *driver) addresses(f *hwx.File) {
	d.addrs = map[string]uint64{}
	for _, p := range f.Ports() {
		d.addrs[p.Name] = uint64(p.Addr)
	}
	d.end = endOf(f)
}

// endOf returns the first address after the container in the engine's map.
func endOf(f *hwx.File) (end uint64) {
	for _, s := range f.Segments() {
		end = max(end, s.VMAddr+s.VMSize)
	}
	return end
}

// firstState returns the address of the first state of a container that ends at end.
func firstState(end uint64) uint64 { return (end + e5.StateStride - 1) &^ (e5.StateStride - 1) }

// enginePartitions returns the indices of the partitions that become procedures.
func (u *unit) enginePartitions() (at []int) {
	for i, st := range u.state.Partitions {
		if st.Unit == ir.Engine {
			at = append(at, i)
		}
	}
	return at
}

// surfaces appends a procedure's surfaces to the image and sets its buffer-access registers.
func (d *driver) surfaces(e *hwx.Entry, p *lower.Procedure) {
	img := d.image
	e.Bars = map[int]hwx.BarRef{td.BarText: {Kind: hwx.BarText}, td.BarConstants: {Kind: hwx.BarConstants}}
	if d.sec.Size() > 0 {
		e.Bars[d.codec.KernelBar(len(p.Inputs)+len(p.Outputs))] = hwx.BarRef{Kind: hwx.BarConstants}
	}
	if p.Scratch > 0 {
		e.Bars[td.BarScratch] = hwx.BarRef{Kind: hwx.BarScratch}
		img.Scratch = max(img.Scratch, uint64(p.Scratch))
	}
	type port struct {
		*lower.Surface
		binding uint32
	}
	var ports []port
	for i := range p.Inputs {
		ports = append(ports, port{&p.Inputs[i], hwx.BindInput})
	}
	for i := range p.Outputs {
		ports = append(ports, port{&p.Outputs[i], hwx.BindOutput})
	}
	slices.SortFunc(ports, func(a, b port) int {
		if d.o.TextFirst && a.binding != b.binding { // inputs first, whatever their registers
			return cmp.Compare(a.binding, b.binding)
		}
		return cmp.Compare(a.Bar, b.Bar)
	})
	for _, s := range ports {
		dims, strides := s.NCHW()
		hs := hwx.Surface{
			Name: s.Name, Procedure: p.Name, Binding: s.binding, Element: elementFP16,
			BatchBytes: uint64(strides[0]), Size: uint64(s.Size),
		}
		if s.Narrow() {
			hs.Element = elementUint8
		}
		for k := range dims {
			hs.Dims[k], hs.Strides[k] = uint32(dims[k]), uint64(strides[k])
		}
		img.Surfaces = append(img.Surfaces, hs)
		e.Bars[s.Bar] = hwx.BarRef{Kind: hwx.BarSurface, Surface: s.Name}
	}
}

// idle fills the container of a program that does not use the engine. It holds a single idle task, with a window of
// one element to read and one to write, since the format has no programs without tasks and windows.
func (d *driver) idle(img *hwx.Image) error {
	port := d.codec.FirstPort
	t, err := lower.Idle(d.o.Target, d.codec, port+1, port)
	if err != nil {
		return err
	}
	text, offs, err := d.codec.AppendChain(nil, []*td.Task{t})
	if err != nil {
		return err
	}
	img.Text = text
	window := func(name string, binding uint32) hwx.Surface {
		return hwx.Surface{
			Name: name, Procedure: "net", Binding: binding, Element: elementFP16, Dims: [4]uint32{1, 1, 1, 1},
			Strides: [4]uint64{64, 64, 64, 2}, BatchBytes: 64, Size: 64,
		}
	}
	img.Surfaces = []hwx.Surface{window("idle", hwx.BindInput), window("idle@output", hwx.BindOutput)}
	img.Procedures = []hwx.Entry{{
		Name: "net", Offset: uint64(offs[0]), FirstWords: uint32(d.codec.Words(t)), Tasks: 1,
		Bars: map[int]hwx.BarRef{
			td.BarText: {Kind: hwx.BarText},
			port:       {Kind: hwx.BarSurface, Surface: "idle@output"},
			port + 1:   {Kind: hwx.BarSurface, Surface: "idle"},
		},
	}}
	return nil
}

// splitsConstants reports whether the constants get segments of their own.
func (d *driver) splitsConstants() bool {
	return d.o.SplitKernel && d.o.Target.ConstantSegments && (d.codec.Relocated() || d.sec.HasKernels())
}

// banner returns the container's build command: who made it, for what, with which options; never Apple's tool.
func (d *driver) banner() []string {
	lines := []string{
		"ANEC v1",
		"zinc " + Version,
		"\t-t " + d.o.Target.Name,
		fmt.Sprintf("\t--split-kernel-section=%t", d.splitsConstants()),
		fmt.Sprintf("\t--max-kernel-section-size=%d", hwx.MaxKernelSection),
		"\t--e4m3-overflow-setting=Saturate",
		fmt.Sprintf("\t--memcache-size=%d", target.MemoryCacheBytes),
		fmt.Sprintf("\t--bss-limit=%d", int64(target.ScratchBytes)),
		"\t--precision=" + d.o.precision(),
	}
	if d.o.Place == passes.PlaceCompute || d.o.Place == passes.PlaceEngine {
		lines = append(lines, "\t--place="+d.o.Place)
	}
	if d.o.FullTD {
		lines = append(lines, "\t--td-form=full")
	}
	if d.o.OperationSymbols {
		lines = append(lines, "\t--operation-symbols")
	}
	return append(lines, "\t-i "+d.o.InputName)
}
