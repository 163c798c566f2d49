package compile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/compile/cost/opwork"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/mapfault"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// Version is zinc's version, as printed by banners and `zinc version`.
const Version = "0.1.0"

// Options control a compilation.
type Options struct {
	Target      *target.Table
	Precision   string // "declared" (also "") or "fp16"
	Place       string // "auto", "compute" (also "") or "engine" (passes.Options)
	SplitKernel bool   // put constants in segments of their own
	FullTD      bool   // write tasks as old compilers wrote them, with every record whole (lower.Segment.Full)
	TextFirst   bool   // order addresses as in the oldest containers (hwx.TextFirst)
	Func        string // "" for all functions
	// Shapes are the configurations to compile, each the shapes of inputs, by name, that replace the defaults; none
	// means all enumerated shapes, or else the defaults.
	Shapes    []map[string][]int64
	Workers   int    // number of goroutines that pack constants, 0 for one per processor
	InputName string // base name of the source, for the build information
	// Memory, if not nil, is what earlier compilations of the same model have found out.
	Memory *Memory
	// OperationSymbols names the operation of each task in the symbol table of the container.
	OperationSymbols bool
	// Provenance records what every part of the pair came from, for Sink.Database.
	Provenance bool
	// Until names the last pass to run, for Sink.Snapshot.
	Until string

	Progress     func(stage string, done, total int)
	PrintAfter   []string
	PrintChanged bool
	VerifyEach   bool
	Log          io.Writer
	// Observe, when set, sees the program after each pass, function by function in
	// the order of the pair. It must not change it.
	Observe func(pass string, p *ir.Program)
}

// Built is the pair, built and checked.
type Built struct {
	HWX *hwx.File
	E5  *e5.Program

	image     *hwx.Image // what HWX was built from, without the text
	container []byte     // HWX as written, nil if Sink.Container keeps none
	hash      string     // its SHA-256
}

// Sum returns the SHA-256 of the container, in hexadecimal.
func (b *Built) Sum() string { return b.hash }

// Function is one function of a pair, in one configuration of its shapes.
type Function struct {
	// Name is the name in the descriptor: the source's name, followed by VariantMark and a number for each further
	// configuration of enumerated shapes.
	Name   string
	Report *Report
	// Reference is the program whose outputs the pair must reproduce: the source's function with shapes and precision
	// resolved and every operation placed, before any other rewriting. Its states are parameters of state type.
	Reference *ir.Func
	// Placed is the function as it was lowered.
	Placed *ir.Func
	// Procedures are its engine partitions, lowered.
	Procedures []*lower.Procedure
	// States are the names of its states, in order.
	States []string
	// StateResults are the outputs of Placed, by index, that the states contain after a call; -1 for a state that is
	// only read.
	StateResults []int
}

// VariantMark separates the name of a function from the number of a configuration of its shapes.
const VariantMark = e5.VariantMark

// driver is the state of one compilation.
type driver struct {
	ctx  context.Context
	o    Options
	sink Sink
	to   stage
	// acceptor serves all functions: the functions of one program repeat operations.
	acceptor *lower.Acceptor
	// codec writes the tasks; it is nil, with noCodec saying why, for a target for which zinc cannot write any.
	codec   *td.Codec
	noCodec error
	units   []*unit
	sec     weights.Section // of all functions: equal constants are stored once
	names   map[string]int  // procedures and ports in use
	hash    string          // of the container
	scratch int64           // the most that a procedure has
	image   *hwx.Image
	tasks   int // in image
	addrs   map[string]uint64
	end     uint64 // first address after the container
	exceeds error  // why no container has room for the constants of an estimate, nil if one has
	prov    *recorder
}

// unit is one function in one configuration.
type unit struct {
	name  string
	state *passes.State
	procs []*lower.Procedure
	rep   *Report
	// assessed are the assessments of the tasks of procs, for a report of every task.
	assessed [][]*assessment
	parts    []cost.Part // of the operations of rep, where it has estimates
	known    *segments   // nil if each segment is lowered
	// shapes are the shapes of its configuration, nil for the default ones.
	shapes map[string][]int64
}

// Compile compiles p and passes its parts to a sink. It rewrites p, which must not be used afterwards. Without
// Options.Func all functions go into one pair.
func Compile(ctx context.Context, p *ir.Program, o Options, to Sink) error {
	o.Precision = passes.PrecisionOf(o.Precision, p)
	d, err := newDriver(ctx, o, to)
	if err != nil {
		return err
	}
	if o.Provenance && to.Database != nil && d.to != tasks {
		d.prov = newRecorder(p, d)
	}
	if err := d.allPasses(p); err != nil {
		return err
	}
	return d.finish()
}

// codec returns the codec of the tasks that are written, or an error for a target that zinc writes no programs for.
func (o *Options) codec() (*td.Codec, error) {
	if o.Target.TD == 0 {
		return nil, fmt.Errorf("zinc writes no programs for target %s yet, only for %s; "+
			"zinc check places and estimates a model for it", o.Target.Name, strings.Join(target.Compiled(), ", "))
	}
	c, err := td.CodecOf(o.Target.TD)
	if err == nil && o.FullTD {
		return c.Full()
	}
	return c, err
}

func newDriver(ctx context.Context, o Options, to Sink) (*driver, error) {
	if o.Target == nil {
		return nil, errors.New("compile: Options.Target is nil; want one of target.All")
	}
	d := &driver{
		ctx:   ctx,
		o:     o,
		sink:  to,
		to:    to.stage(&o),
		names: map[string]int{},
		sec:   weights.Section{Workers: o.Workers},
		image: new(hwx.Image),
	}
	if o.Memory != nil {
		d.acceptor = o.Memory.acceptor
	} else {
		d.acceptor = lower.NewAcceptor(o.Target, times(o.Target))
	}
	d.codec, d.noCodec = o.codec()
	d.sec.Track()
	d.sec.Endless = d.to == tasks
	if d.to > places && d.codec == nil {
		return nil, d.noCodec
	}
	return d, nil
}

// allPasses runs the passes on every function of p.
func (d *driver) allPasses(p *ir.Program) error {
	jobs, err := d.o.jobs(p)
	if err != nil {
		return err
	}
	if d.o.Memory != nil {
		d.o.Memory.acceptor.Next()
		d.o.Memory.passes.Next()
	}
	for i := range jobs {
		d.o.progress("passes", i, len(jobs))
		if d.to == places && d.sink.Snapshot == nil && strings.Contains(jobs[i].name, VariantMark) {
			continue // another configuration of a function that is already placed
		}
		u, err := d.passes(&jobs[i])
		if err != nil {
			return err
		}
		d.units = append(d.units, u)
	}
	d.o.progress("passes", len(jobs), len(jobs))
	return nil
}

// finish takes functions that have gone through the passes as far as the sink needs.
func (d *driver) finish() error {
	if d.sink.Snapshot != nil {
		return d.sink.Snapshot(d.snapshot())
	}
	var fs []*Function
	for _, u := range d.units {
		if d.to > places {
			if err := u.compilable(); err != nil {
				return err
			}
		}
		fs = append(fs, u.function())
	}
	err := give(d.sink.Placed, fs)
	if err == nil {
		err = d.backend()
	}
	if errors.Is(err, ErrStop) {
		return nil
	}
	return err
}

// backend lowers the functions and builds the pair.
func (d *driver) backend() (err error) {
	defer func() {
		if r := recover(); r != nil {
			if mapfault.Of(r) != nil {
				panic(r) // of a file, not of a stage
			}
			panic(&Panic{r})
		}
	}()
	for _, u := range d.units {
		d.prov.unit(u)
	}
	var desc *e5.Program
	switch d.to {
	case whole:
		desc, err = d.build()
	case tasks:
		if err = d.lower(); err == nil {
			desc, err = d.descriptor()
		}
		for _, u := range d.units {
			u.known.forget()
		}
		if err == nil && d.exceeds != nil {
			return errors.Join(d.report(desc), d.exceeds)
		}
	default:
		for _, u := range d.units {
			d.prov.operators(u)
		}
		d.prov.inSourceOrder()
		err = d.giveDatabase(nil)
	}
	if err != nil {
		return err
	}
	return d.report(desc)
}

// build lowers the functions and builds, checks and passes on the pair, and returns its descriptor.
func (d *driver) build() (*e5.Program, error) {
	if d.sink.Placed == nil && d.sink.Function == nil {
		d.prov.forget()
	}
	if err := d.lower(); err != nil {
		return nil, err
	}
	first, start := d.units[0].rep, time.Now()
	d.prov.constants(&d.sec, d.units)
	file, err := d.container()
	if err != nil {
		return nil, err
	}
	data, err := d.store(file)
	if err != nil {
		return nil, err
	}
	first.time("emit-hwx", start)
	start = time.Now()
	d.addresses(file)
	desc, err := d.descriptor()
	if err != nil {
		return nil, err
	}
	first.time("emit-e5", start)
	start = time.Now()
	if err := d.check(file, desc); err != nil {
		return nil, err
	}
	first.time("check", start)
	d.keep(file, data)
	b := &Built{HWX: file, E5: desc, image: d.image, container: data, hash: d.hash}
	if err := give(d.sink.Built, b); err != nil {
		return nil, err
	}
	d.image = nil
	if err := d.prov.finish(d, file); err != nil {
		return nil, err
	}
	return desc, d.giveDatabase(file.TextBytes())
}

// giveDatabase passes on the debug database and drops the rest of what was recorded, which is as large.
func (d *driver) giveDatabase(text []byte) error {
	if d.prov == nil {
		return nil
	}
	db := d.prov.db
	d.prov = nil
	return d.sink.Database(db, text)
}

func (o *Options) precision() string {
	if o.Precision == "" {
		return passes.PrecisionDeclared
	}
	return o.Precision
}

func (o *Options) progress(stage string, done, total int) {
	if o.Progress != nil {
		o.Progress(stage, done, total)
	}
}

// function returns the function without its report and what it was lowered to.
func (u *unit) function() *Function {
	f := &Function{Name: u.name, Reference: u.state.Reference, Placed: u.state.Func}
	for _, st := range u.state.States {
		f.States, f.StateResults = append(f.States, st.Name), append(f.StateResults, st.Result)
	}
	return f
}

// passes runs the passes on one function.
func (d *driver) passes(j *job) (*unit, error) {
	if err := CheckSizes(j.program, j.program.Funcs[0]); err != nil {
		return nil, err
	}
	known := d.segments(j.program.Funcs[0])
	o := d.passOptions(known)
	o.Func, o.Shapes = j.program.Funcs[0].Name, j.shapes
	inputs := flexible(j.name, j.program.Funcs[0])
	s, err := passes.Run(d.ctx, j.program, o)
	if err != nil {
		return nil, err
	}
	u := d.unit(j.name, s)
	u.shapes = j.shapes
	if d.to == tasks && !known.empty() {
		u.known = known
	} else {
		known.forget()
	}
	u.rep.Flexible = inputs
	u.rep.resolve(s.Func)
	return u, nil
}

// passOptions returns the options of the passes, which are the same for every function except for known.
func (d *driver) passOptions(known *segments) passes.Options {
	var memory *passes.Memory
	if d.o.Memory != nil {
		memory = d.o.Memory.passes
	}
	return passes.Options{
		Target:        d.o.Target,
		Memory:        memory,
		Precision:     d.o.precision(),
		Place:         d.o.Place,
		Until:         d.o.Until,
		Accept:        d.acceptor.Accept,
		CanFuse:       lower.CanFuse,
		CPUTime:       func(op *ir.Op) int64 { return int64(opwork.CPU(op)) },
		DispatchTime:  d.dispatchTime,
		CallTime:      d.callTime(known),
		PrintAfter:    d.o.PrintAfter,
		PrintChanged:  d.o.PrintChanged,
		Origins:       d.o.Provenance,
		KeepReference: d.sink.Placed != nil || d.sink.Function != nil || d.sink.Snapshot != nil,
		VerifyEach:    d.o.VerifyEach,
		Log:           d.o.Log,
		Observe:       d.o.Observe,
	}
}

// Memory is what compilations of versions of a model, one after another, share: for one target, and as long as the
// model's weight files do not change. The results are the same without it.
type Memory struct {
	acceptor *lower.Acceptor
	passes   *passes.Memory
}

// NewMemory returns an empty memory for a target.
func NewMemory(t *target.Table) *Memory {
	return &Memory{acceptor: lower.NewAcceptor(t, times(t)), passes: passes.NewMemory()}
}

// unit returns a unit for a function, with the report that its passes begin.
func (d *driver) unit(name string, s *passes.State) *unit {
	u := &unit{name: name, state: s, rep: &Report{Target: d.o.Target.Name, Precision: d.o.precision()}}
	if d.sink.reports() {
		u.rep.Timings = make([]Timing, 0, len(s.Timings)+1) // and the time of lowering
		for _, tm := range s.Timings {
			u.rep.Timings = append(u.rep.Timings, Timing{tm.Pass, tm.Time.Seconds()})
		}
	}
	s.Timings = nil // thousands of functions would keep them
	return u
}

// compilable returns an error for a function that no pair can contain.
func (u *unit) compilable() error {
	seen := map[*ir.Value]bool{}
	for _, v := range u.state.Func.Body.Outputs[:u.state.VisibleOutputs] {
		if seen[v] {
			return fmt.Errorf("function %s returns %q twice; results are known by name, so each can be returned "+
				"once (copy it with identity)", u.name, v.Name)
		}
		seen[v] = true
	}
	for _, st := range u.state.States {
		if st.Result < 0 {
			continue
		}
		if t := u.state.Func.Body.Outputs[st.Result].Type; !t.Static() {
			return fmt.Errorf("function %s writes a value of type %s to state %s of type %s; set the shapes of the "+
				"inputs, since only a value of known extents can be written", u.name, t, st.Name, st.Value.Type)
		}
	}
	return CheckSizes(u.state.Program, u.state.Func) // again, because the passes have resolved the shapes
}

// maxPortable limits a name so that suffixes fit: a firmware container allows 255 bytes for a name.
const maxPortable = 200

// portable returns a name that a container and everything that loads it accept: printing characters only, and not too
// long.
func portable(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return '_'
		}
		return r
	}, name)
	if len(name) <= maxPortable {
		return name
	}
	n := maxPortable
	for !utf8.RuneStart(name[n]) {
		n--
	}
	return name[:n]
}

// unique returns name, with a number appended if it is taken.
func (d *driver) unique(name string) string {
	for {
		n := d.names[name]
		d.names[name]++
		if n == 0 {
			return name
		}
		if s := fmt.Sprintf("%s.%d", name, n); d.names[s] == 0 {
			d.names[s]++
			return s
		}
	}
}

// lower turns every engine partition into a procedure, and puts it into the image if there is to be a pair.
func (d *driver) lower() error {
	total, later := 0, 0 // engine partitions, and operations in those that are not lowered yet
	for _, u := range d.units {
		for _, st := range u.state.Partitions {
			if st.Unit == ir.Engine {
				total, later = total+1, later+len(st.Ops)
			}
		}
	}
	done := 0
	for _, u := range d.units {
		start := time.Now()
		base := "net"
		if len(d.units) > 1 {
			base = u.name
		}
		for _, st := range u.state.Partitions {
			if st.Unit != ir.Engine {
				continue
			}
			if err := d.ctx.Err(); err != nil {
				return err
			}
			name := base
			if n := len(u.procs); n > 0 {
				name = fmt.Sprintf("%s_%d", base, n)
			}
			name = d.unique(portable(name))
			ports := map[*ir.Value]string{}
			for _, v := range st.Inputs {
				ports[v] = d.unique(portable(v.Name))
			}
			for _, v := range st.Outputs {
				ports[v] = d.unique(portable(v.Name) + "@output")
			}
			seg := &lower.Segment{
				Name: name, Ops: st.Ops, Inputs: st.Inputs, Outputs: st.Outputs, Fused: u.state.Fused, Ports: ports,
				Codec: d.codec, Keep: d.sink.Function != nil,
			}
			later -= len(st.Ops)
			var w *taskWriter
			seg.Emit = d.perTask(u)
			if d.to == whole {
				w = d.taskWriter(name, later, seg.Emit)
				seg.Emit = w.add
			}
			p, err := d.procedure(u, seg)
			if err != nil {
				return err
			}
			u.procs = append(u.procs, p)
			d.exceeds = cmp.Or(d.exceeds, p.Exceeds)
			u.rep.Tasks += len(p.Infos)
			u.rep.Scratch, d.scratch = max(u.rep.Scratch, p.Scratch), max(d.scratch, p.Scratch)
			if w != nil {
				if err := errors.Join(w.end(p), d.checkLoad(u, p), give(d.sink.Procedure, p)); err != nil {
					return err
				}
			}
			done++
			d.o.progress("lower", done, total)
		}
		u.rep.time("lower", start)
	}
	return nil
}
