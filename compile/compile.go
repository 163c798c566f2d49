package compile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// Version is zinc's version, as banners and `zinc version` give it.
const Version = "0.1.0"

// Options steer a compilation.
type Options struct {
	Target      *target.Table
	Precision   string // "declared" (also "") or "fp16"
	SplitKernel bool   // constants in segments of their own
	Func        string // "" for main or the only function
	Workers     int    // goroutines that pack constants, 0 for one a processor
	InputName   string // base name of the source, for the build information

	Progress     func(stage string, done, total int)
	PrintAfter   []string
	PrintChanged bool
	VerifyEach   bool
	TimePasses   bool
	Log          io.Writer
}

// Result is a compiled program.
type Result struct {
	HWX    *hwx.File
	E5     *e5.Program
	Report *Report
	// Reference is the program whose outputs the pair must give: the source's
	// function with shapes and precision settled, every operation placed, before
	// any other rewriting.
	Reference *ir.Func
	// Placed is the function as it was lowered.
	Placed *ir.Func
}

// driver is the state of one compilation.
type driver struct {
	ctx   context.Context
	o     Options
	state *passes.State
	sec   weights.Section
	procs []*lower.Procedure
	rep   *Report
}

// Compile compiles p, which it rewrites and must not be used afterwards.
func Compile(ctx context.Context, p *ir.Program, o Options) (*Result, error) {
	if o.Target == nil {
		o.Target = target.H13
	}
	if o.Target.TD != 7 {
		return nil, fmt.Errorf("zinc writes no task descriptors for target %s yet", o.Target.Name)
	}
	d := &driver{ctx: ctx, o: o, rep: &Report{Target: o.Target.Name, Precision: o.precision()}}
	if err := d.passes(p); err != nil {
		return nil, err
	}
	if err := d.compilable(); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := d.lower(); err != nil {
		return nil, err
	}
	d.rep.time("lower", start)
	start = time.Now()
	file, err := d.container()
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	if _, err := file.WriteTo(h); err != nil {
		return nil, err
	}
	d.rep.time("emit-hwx", start)
	start = time.Now()
	desc, err := d.descriptor(hex.EncodeToString(h.Sum(nil)))
	if err != nil {
		return nil, err
	}
	d.rep.time("emit-e5", start)
	d.account()
	return &Result{HWX: file, E5: desc, Report: d.rep, Reference: d.state.Reference, Placed: d.state.Func}, nil
}

func (o *Options) precision() string {
	if o.Precision == "" {
		return "declared"
	}
	return o.Precision
}

func (o *Options) progress(stage string, done, total int) {
	if o.Progress != nil {
		o.Progress(stage, done, total)
	}
}

func (d *driver) passes(p *ir.Program) error {
	d.o.progress("passes", 0, 1)
	t := d.o.Target
	s, err := passes.Run(d.ctx, p, passes.Options{
		Target: t, Func: d.o.Func, Precision: d.o.precision(),
		Accept:     func(op *ir.Op) (string, bool, error) { return lower.Accept(op, t) },
		CanFuse:    lower.CanFuse,
		PrintAfter: d.o.PrintAfter, PrintChanged: d.o.PrintChanged, VerifyEach: d.o.VerifyEach, Log: d.o.Log,
	})
	if err != nil {
		return err
	}
	d.state = s
	for _, tm := range s.Timings {
		d.rep.Timings = append(d.rep.Timings, Timing{tm.Pass, tm.Time.Seconds()})
	}
	d.o.progress("passes", 1, 1)
	return nil
}

// compilable refuses a function that no pair can hold yet.
func (d *driver) compilable() error {
	f := d.state.Func
	for _, v := range f.Body.Params {
		if v.Type.Kind == ir.State {
			return fmt.Errorf("function %s: parameter %q is a state; states are not compiled yet", f.Name, v.Name)
		}
	}
	seen := map[*ir.Value]bool{}
	for _, v := range f.Body.Outputs {
		if seen[v] {
			return fmt.Errorf("function %s returns %q twice; results are known by name, so each can be returned once (copy it with identity)", f.Name, v.Name)
		}
		seen[v] = true
	}
	return nil
}

// lower turns every engine step into a procedure.
func (d *driver) lower() error {
	total := 0
	for _, st := range d.state.Steps {
		if st.Unit == ir.Engine {
			total++
		}
	}
	used := map[string]int{}
	unique := func(name string) string {
		n := used[name]
		used[name]++
		if n == 0 {
			return name
		}
		return fmt.Sprintf("%s.%d", name, n)
	}
	for _, st := range d.state.Steps {
		if st.Unit != ir.Engine {
			continue
		}
		if err := d.ctx.Err(); err != nil {
			return err
		}
		name := "net"
		if n := len(d.procs); n > 0 {
			name = fmt.Sprintf("net_%d", n)
		}
		ports := map[*ir.Value]string{}
		for _, v := range st.Inputs {
			ports[v] = unique(v.Name)
		}
		for _, v := range st.Outputs {
			ports[v] = unique(v.Name + "@output")
		}
		p, err := lower.Lower(&lower.Segment{
			Name: name, Ops: st.Ops, Inputs: st.Inputs, Outputs: st.Outputs, Fused: d.state.Fused, Ports: ports,
		}, d.o.Target, &d.sec, d.o.Workers)
		if err != nil {
			return err
		}
		d.procs = append(d.procs, p)
		d.o.progress("lower", len(d.procs), total)
	}
	return nil
}
