package compile

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
)

// chain builds the operation chain of the descriptor.
type chain struct {
	d    *driver
	u    *unit
	f    *e5.Function
	host map[*ir.Value]uint32 // operands in host layout
	surf map[*ir.Value]uint32 // outputs of engine procedures
	outs map[*ir.Value]bool   // results of the function
	// result holds the operands of results that are parameters.
	result map[*ir.Value]uint32
	want   map[*ir.Value]bool // values that something reads in host layout
	// direct contains the new values of states that are written straight to the state's buffer, since nothing reads its
	// old content after that.
	direct map[*ir.Value]uint32
	states []uint32 // operand of each state
	// through are the conversions that were skipped to find the operand of the operation that is being appended, and
	// ops counts the operations appended. Both are for the recorder.
	through []*ir.Op
	ops     int

	// The chain that is being built: casts that fill its surfaces, its inferences with the casts that pass surfaces on,
	// and casts that empty them. Each appends its operation. An inference joins the chain if nothing of the last list
	// must come before it.
	before, calls, after []func()
	links                links
}

// links is what decides whether an inference joins the chain before it.
type links struct {
	inferences, inputs, outputs int
	surfaces                    map[uint32]bool // that the chain writes
	late                        map[uint32]bool // operands that the chain's last casts write
}

// flush appends the operations of the chain that is being built, and ends it.
func (c *chain) flush() {
	for _, list := range [][]func(){c.before, c.calls, c.after} {
		for _, do := range list {
			do()
		}
	}
	c.before, c.calls, c.after = c.before[:0], c.calls[:0], c.after[:0]
	c.links = links{surfaces: map[uint32]bool{}, late: map[uint32]bool{}}
}

// joins reports whether a procedure can follow the chain's last inference without work of the host between the two.
func (c *chain) joins(p *lower.Procedure) bool {
	l := &c.links
	if len(c.calls) == 0 || l.inferences == e5.MaxChain || l.inputs+len(p.Inputs) > e5.MaxChainPorts ||
		l.outputs+len(p.Outputs) > e5.MaxChainPorts {
		return false
	}
	for i := range p.Inputs {
		from, err := c.filler(p.Inputs[i].Value)
		if err != nil || l.late[from] {
			return false
		}
		if to := c.surfaceOf(&p.Inputs[i]); l.surfaces[from] && !e5.Alike(&c.f.Operands[from], &to) {
			return false
		}
	}
	return true
}

// later appends an operation that empties a surface or converts what is emptied: at once, or after the chain that is
// being built.
func (c *chain) later(to uint32, do func()) {
	if len(c.calls) == 0 {
		do()
		return
	}
	c.links.late[to] = true
	c.after = append(c.after, do)
}

// descriptor writes the functions of the pair.
func (d *driver) descriptor() (*e5.Program, error) {
	out := &e5.Program{
		BuildInfo: []e5.KV{
			{Key: e5.KeyInputFilePath, Value: d.o.InputName},
			{Key: "component-zinc", Value: Version},
			{Key: e5.KeyTarget, Value: d.o.Target.Name},
		},
	}
	for _, kv := range d.units[0].state.Program.BuildInfo {
		if strings.HasSuffix(kv.Key, e5.KeyMIL) {
			out.BuildInfo = append(out.BuildInfo, e5.KV{Key: e5.KeyMIL, Value: kv.Value})
		}
	}
	for _, u := range d.units {
		f, err := d.function(u)
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", u.name, err)
		}
		out.Functions = append(out.Functions, *f)
	}
	out.ShareStates()
	return out, nil
}

// function writes the steps of one function as casts, inferences and CPU calls.
func (d *driver) function(u *unit) (*e5.Function, error) {
	fn := u.state.Func
	c := &chain{
		d: d, u: u, f: &e5.Function{Name: u.name, AneHashPath: d.hash},
		host: map[*ir.Value]uint32{}, surf: map[*ir.Value]uint32{}, outs: map[*ir.Value]bool{},
		want:   map[*ir.Value]bool{},
		result: map[*ir.Value]uint32{}, direct: map[*ir.Value]uint32{},
	}
	for _, v := range c.visible() {
		c.outs[v], c.want[v] = true, true
	}
	for _, st := range u.state.Partitions {
		if st.Unit == ir.Engine {
			continue
		}
		for _, op := range st.Ops {
			if st.Unit == ir.Transfer {
				// A transfer reads the surface of an engine result directly.
				continue
			}
			op.Operands(func(_ *ir.Param, v *ir.Value) { c.want[v] = true })
		}
		for _, v := range st.Inputs {
			c.want[v] = c.want[v] || st.Unit == ir.CPU
		}
	}
	if err := c.params(fn); err != nil {
		return nil, err
	}
	c.flush()
	engine := 0
	for i, st := range u.state.Partitions {
		var err error
		switch st.Unit {
		case ir.Engine:
			err = c.inference(u.procs[engine])
			engine++
		case ir.Transfer:
			err = c.transfer(st.Ops[0])
		default:
			err = c.call(fmt.Sprintf("cpu_%d", i), st.Ops, st.Inputs, st.Outputs)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := c.results(); err != nil {
		return nil, err
	}
	return c.f, c.checkBuffers()
}

// operand adds an operand in host layout.
func (c *chain) operand(v *ir.Value, a e5.Aperture) (uint32, error) {
	desc, size, err := hostLayout(v.Type)
	if err == nil && v.Type.Kind != ir.Tensor && a != e5.Intermediate {
		err = fmt.Errorf("a %s cannot be an input or output", v.Type)
	}
	if err != nil {
		return 0, fmt.Errorf("value %q: %w", v.Name, err)
	}
	return c.f.AddOperand(e5.Operand{
		Name:     v.Name,
		Desc:     desc,
		Aperture: a,
		Port:     e5.IOPort{Name: v.Name, ByteSize: size},
	}), nil
}

// hostLayout returns the packed row-major layout of a tensor. If a dimension is unknown, the runtime determines the
// whole layout; the same holds for a list, which passes between CPU calls as it is.
func hostLayout(t ir.Type) (e5.TensorDescriptor, uint64, error) {
	var none e5.TensorDescriptor
	st, ok := e5.StorageTypeOf(t.DType.String())
	if !ok {
		return none, 0, fmt.Errorf("the descriptor has no code for %s", t.DType)
	}
	switch t.Kind {
	case ir.List:
		return e5.HostDescriptor(st, e5.UnknownDim), 0, nil
	case ir.Tensor:
	default:
		return none, 0, fmt.Errorf("a %s cannot pass between steps", t)
	}
	dims := make([]uint64, len(t.Shape))
	for i, d := range t.Shape {
		dims[i] = uint64(d)
		if d < 0 {
			dims[i] = e5.UnknownDim
		}
	}
	desc := e5.HostDescriptor(st, dims...)
	size, err := desc.Extent()
	return desc, size, err
}

// hostOf returns the operand that contains v in host layout, creating it when v is about to be filled.
func (c *chain) hostOf(v *ir.Value) (uint32, error) {
	if id, ok := c.host[v]; ok {
		return id, nil
	}
	if id, ok := c.direct[v]; ok {
		c.host[v] = id
		return id, nil
	}
	a := e5.Intermediate
	if c.outs[v] {
		a = e5.HostOutput
	}
	id, err := c.operand(v, a)
	if err == nil {
		c.host[v] = id
	}
	return id, err
}

// filler returns the operand that an engine input is filled from: the surface that an earlier procedure has written,
// otherwise the operand that source returns.
func (c *chain) filler(v *ir.Value) (uint32, error) {
	for x := v; x != nil; {
		if id, ok := c.surf[x]; ok {
			return id, nil
		}
		// A value that was an integer on the way has been truncated.
		if _, ok := c.host[x]; ok || x.Type.DType.IsInt() || x.Def == nil || x.Def.Place.Unit != ir.Transfer {
			break
		}
		c.through = append(c.through, x.Def)
		x = x.Def.Arg(ir.ParamX)
	}
	c.through = c.through[:0]
	return c.source(v)
}

// source returns the host operand of a value: if the value comes from a conversion and nothing else reads it, the
// operand of that conversion.
func (c *chain) source(v *ir.Value) (uint32, error) {
	if id, ok := c.host[v]; ok {
		return id, nil
	}
	if v.Def != nil && v.Def.Place.Unit == ir.Transfer {
		c.through = append(c.through, v.Def)
		return c.source(v.Def.Arg(ir.ParamX))
	}
	return 0, fmt.Errorf("value %q is read before anything wrote it", v.Name)
}

func (c *chain) cast(from, to uint32) {
	c.f.AddOp([]uint32{from}, []uint32{to}, &e5.CastAttrs{
		SrcDType: c.f.Operands[from].Desc.Storage, DstDType: c.f.Operands[to].Desc.Storage, ComponentPack: 1,
	})
}

// inference adds the dispatch of one procedure and the casts around it to a chain.
func (c *chain) inference(p *lower.Procedure) error {
	if !c.joins(p) {
		c.flush()
	}
	l := &c.links
	l.inferences++
	l.inputs += len(p.Inputs)
	l.outputs += len(p.Outputs)
	var ins, outs []uint32
	for i := range p.Inputs {
		c.through = c.through[:0]
		v := p.Inputs[i].Value
		from, err := c.filler(v)
		if err != nil {
			return err
		}
		id, through := c.surface(&p.Inputs[i]), slices.Clone(c.through)
		fill := func() {
			c.cast(from, id)
			c.through = through
			c.note(RuleInput, c.madeOf(v))
		}
		if l.surfaces[from] {
			c.calls = append(c.calls, fill)
		} else {
			c.before = append(c.before, fill)
		}
		ins = append(ins, id)
	}
	for i := range p.Outputs {
		id := c.surface(&p.Outputs[i])
		c.surf[p.Outputs[i].Value] = id
		l.surfaces[id] = true
		outs = append(outs, id)
	}
	c.calls = append(c.calls, func() {
		c.f.AddOp(ins, outs, &e5.AneInferenceAttrs{
			ProcedureName: p.Name, AneHash: c.d.hash, ProgramSymbol: "main_ane",
		})
		if r := c.d.prov; r != nil {
			c.through = nil
			c.note(RuleInference, r.steps[p][0])
			c.noteWith(r.steps[p][1])
		}
	})
	for i := range p.Outputs {
		v := p.Outputs[i].Value
		if !c.want[v] {
			continue
		}
		to, err := c.hostOf(v)
		if err != nil {
			return err
		}
		c.later(to, func() {
			c.cast(outs[i], to)
			c.through = nil
			c.note(RuleOutput, c.madeOf(v), c.heldBy(v))
		})
	}
	return nil
}

// surface adds the operand of a surface.
func (c *chain) surface(s *lower.Surface) uint32 { return c.f.AddOperand(c.surfaceOf(s)) }

func (c *chain) surfaceOf(s *lower.Surface) e5.Operand {
	desc := e5.TensorDescriptor{Storage: e5.FP16, ComponentPack: 1}
	if s.Narrow() {
		desc.Storage, _ = e5.StorageTypeOf(s.Value.Type.DType.String()) // a type of the host's operands
	}
	for i := range s.Dims {
		desc.Dim = append(desc.Dim, uint64(s.Dims[i]))
		desc.Stride = append(desc.Stride, uint64(s.Stride[i]))
	}
	return e5.Operand{
		Name:     s.Value.Name,
		Desc:     desc,
		Aperture: e5.Surface,
		Port:     e5.IOPort{Name: s.Name, ByteSize: uint64(s.Size), ApertureVA: c.d.addrs[s.Name]},
	}
}

// transfer emits a conversion between fp16 and fp32 whose result is read by something other than an engine input.
func (c *chain) transfer(op *ir.Op) error {
	x, y := op.Arg(ir.ParamX), op.Results[0]
	c.through = c.through[:0]
	from, ok := c.surf[x]
	if !ok {
		if !c.want[y] && !c.readByTransfer(y) {
			return nil // its reader takes the operand itself
		}
		var err error
		if from, err = c.source(x); err != nil {
			return err
		}
	}
	to, err := c.hostOf(y)
	if err != nil {
		return err
	}
	through := slices.Clone(c.through)
	c.later(to, func() {
		c.cast(from, to)
		c.through = through
		c.note(RuleTransfer, c.madeOf(y), c.heldBy(y))
	})
	return nil
}

func (c *chain) readByTransfer(v *ir.Value) bool {
	for _, st := range c.u.state.Partitions {
		if st.Unit == ir.Transfer && st.Ops[0].Arg(ir.ParamX) == v {
			return true
		}
	}
	return false
}

// call emits a CPU call of some operations as a program of its own.
func (c *chain) call(name string, ops []*ir.Op, inputs, outputs []*ir.Value) error {
	c.flush()
	fn := &ir.Func{Name: name, Opset: c.u.state.Func.Opset, Body: &ir.Block{Params: inputs, Ops: ops, Outputs: outputs}}
	var text bytes.Buffer
	data := ir.Data{Plain: true}
	if c.d.to == whole { // reports have nothing of the text
		err := ir.PrintTo(&text, &ir.Program{
			Version: c.u.state.Program.Version,
			Funcs:   []*ir.Func{fn},
			Files:   c.u.files(),
		}, &data)
		if err != nil {
			return err
		}
	}
	var ins, outs []uint32
	for _, v := range inputs {
		id, err := c.source(v)
		if err != nil {
			return err
		}
		ins = append(ins, id)
	}
	for _, v := range outputs {
		id, err := c.hostOf(v)
		if err != nil {
			return err
		}
		outs = append(outs, id)
	}
	attrs := &e5.CpuInferenceAttrs{Entry: name, Program: text.String()}
	if data.Size() > 0 {
		attrs.Constants = []e5.Constant{{Name: "data", Data: data.Bytes()}}
	}
	c.f.AddOp(ins, outs, attrs)
	c.through = c.through[:0] // conversions of what it reads are not part of it
	if r := c.d.prov; r != nil {
		ns := r.opList(ops)
		for _, v := range outputs {
			ns = append(ns, r.value(v), c.heldBy(v))
		}
		c.note(RuleCall, ns...)
		c.noteWith(r.join("", r.withList(ops)...))
	}
	return nil
}

// files returns the names of the source files without their directories, which must not appear in an artefact.
func (u *unit) files() []string {
	var out []string
	for _, f := range u.state.Program.Files {
		out = append(out, filepath.Base(filepath.ToSlash(f)))
	}
	return out
}

// results connects the function's results to their output operands: a parameter that is a result is copied, and a
// constant comes from a CPU call without operations. The new contents of states are written last.
func (c *chain) results() error {
	c.flush()
	for _, v := range c.visible() {
		if v.IsConst() {
			continue
		}
		id, ok := c.host[v]
		if !ok {
			return fmt.Errorf("result %q is never written", v.Name)
		}
		if a := c.f.Operands[id].Aperture; a == e5.HostInput || a == e5.HostState {
			to, err := c.operand(v, e5.HostOutput)
			if err != nil {
				return err
			}
			c.cast(id, to)
			c.through = c.through[:0]
			c.note(RuleResult, c.madeOf(v))
			c.result[v] = to
		}
	}
	held, err := c.heldStates()
	if err != nil {
		return err
	}
	var constants []*ir.Value
	seen := map[*ir.Value]bool{}
	for _, v := range c.u.state.Func.Body.Outputs {
		if v.IsConst() && !seen[v] {
			seen[v] = true
			constants = append(constants, v)
		}
	}
	if len(constants) > 0 {
		if err := c.call("constants", nil, nil, constants); err != nil {
			return err
		}
	}
	for _, v := range c.visible() {
		id, ok := c.result[v]
		if !ok {
			id = c.host[v]
		}
		c.f.Outputs = append(c.f.Outputs, id)
	}
	return c.keepStates(held)
}
