package coreml

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
)

// Options are what a forecast depends on besides the program.
type Options struct {
	Rules  *Rules             // Default if nil
	Units  Units              // All if ""
	Func   string             // the function, "" for main or the only one
	Shapes map[string][]int64 // of flexible inputs, instead of the defaults
}

// Plan is the forecast for one function.
type Plan struct {
	Rules    *Rules
	Units    Units
	Function string
	Rows     []Row     // in program order, the operations of nested blocks after the one that has them
	Segments []Segment // of the function's own block, in order
	Gain     Gain
	Spare    float64  // milliseconds that the best run of operations elsewhere would save on the engine, -1 for none
	Near     []Near   // answers that change within an interval that is not known
	Moves    []Move   // what would change the answer
	Notes    []string // what is not known about this program
}

// Row is one operation.
type Row struct {
	Name      string   // of the first output, or of the state that it writes
	Outputs   []string // names of all outputs
	Kind      string   // with the opset of its form, such as "ios17.conv"
	Pos       ir.Pos
	Supported Backends
	Chosen    Backend
	Estimates [NumBackends]float64 // milliseconds, NaN where unknown or not supported
	Reasons   [NumBackends]string  // why a backend cannot run it, "" if it can
	Weight    float64              // share of the estimated time, 0 to 1
	Ties      []Device             // its other devices on ways of equal cost
	Depth     int                  // blocks around it, 0 in the function's own
	// Inserted is why the framework adds the operation, which is not in the program; "" for the program's own.
	Inserted string

	work features
}

// Time returns the estimate on the chosen backend in milliseconds, 0 if it is not known.
func (r *Row) Time() float64 {
	if t := r.Estimates[r.Chosen]; !math.IsNaN(t) {
		return t
	}
	return 0
}

// Operator returns the kind without its opset.
func (r *Row) Operator() string { return operator(r.Kind) }

// OnEngine returns how many of the program's operations run on the engine.
func (p *Plan) OnEngine() int { return p.count(NeuralEngine) }

// count returns how many of the program's operations run on a device.
func (p *Plan) count(d Device) (n int) {
	for i := range p.Rows {
		if r := &p.Rows[i]; r.Inserted == "" && r.Chosen.Device() == d {
			n++
		}
	}
	return n
}

// Own returns how many operations the program has, without those that the framework adds.
func (p *Plan) Own() int { return p.count(NeuralEngine) + p.count(CPU) + p.count(GPUDevice) }

// EngineTime returns the share of the estimated time that operations on the engine take, 0 to 1.
func (p *Plan) EngineTime() (share float64) {
	for i := range p.Rows {
		if p.Rows[i].Chosen == Engine {
			share += p.Rows[i].Weight
		}
	}
	return share
}

// forecaster fills a plan.
type forecaster struct {
	plan      *Plan
	allowed   Backends
	modelled  Backends // allowed, and with known costs of changes
	table     *table
	validator *validator
	moves     moves
	constants map[*ir.Value]bool // computed from constants alone
	program   *chain             // of the function's own block
}

// chain is the operations of one block in order.
type chain struct {
	rows  []int // indices into Plan.Rows
	steps []step
	edges []edge
	way   *way
}

// Forecast forecasts where the framework runs the operations of a function. It does not change the program. Constants,
// and what is computed from constants alone, run nowhere.
func Forecast(ctx context.Context, p *ir.Program, o Options) (*Plan, error) {
	if p.Untyped() {
		return nil, errors.New("there is no forecast for neural networks: the rules are those for ML programs, " +
			"and Core ML places networks by others; write the network as an ML program for one")
	}
	if o.Rules == nil {
		o.Rules = Default()
	}
	if o.Units == "" {
		o.Units = All
	}
	allowed, err := o.Units.Backends()
	if err != nil {
		return nil, err
	}
	f, err := resolve(ctx, p, o)
	if err != nil {
		return nil, err
	}
	fc := &forecaster{
		plan:      &Plan{Rules: o.Rules, Units: o.Units, Function: f.Name},
		allowed:   allowed,
		table:     newTable(o.Rules),
		validator: newValidator(o.Rules),
		moves:     newMoves(o.Rules),
		constants: map[*ir.Value]bool{},
	}
	for _, b := range allowed.List() {
		if o.Rules.covers(b) {
			fc.modelled |= BackendsOf(b)
		}
	}
	fc.program = fc.block(f.Body, 0)
	fc.weigh()
	fc.plan.Segments = fc.segments()
	fc.plan.Gain = fc.gain()
	fc.plan.Spare = fc.spare()
	fc.plan.Near = fc.near()
	fc.plan.Moves = fc.movers()
	fc.note(f)
	return fc.plan, nil
}

// Functions forecasts the function that the options name, or all functions of the program if they name none.
func Functions(ctx context.Context, p *ir.Program, o Options) ([]*Plan, error) {
	names := []string{o.Func}
	if o.Func == "" && len(p.Funcs) > 0 {
		names = nil
		for _, f := range p.Funcs {
			names = append(names, f.Name)
		}
	}
	var plans []*Plan
	for _, n := range names {
		o.Func = n
		plan, err := Forecast(ctx, p, o)
		if err != nil {
			return nil, err
		}
		plans = append(plans, plan)
	}
	return plans, nil
}

// block forecasts the operations of a block, and of those nested in it.
func (fc *forecaster) block(b *ir.Block, depth int) *chain {
	fc.validator.bury(b)
	c := new(chain)
	c.rows, c.steps = make([]int, 0, len(b.Ops)), make([]step, 0, len(b.Ops))
	fc.plan.Rows = slices.Grow(fc.plan.Rows, len(b.Ops))
	for _, op := range b.Ops {
		if fc.folds(op) {
			for _, r := range op.Results {
				fc.constants[r] = true
			}
			continue
		}
		fc.repairs(c, op, depth)
		fc.add(c, op, Row{Name: rowName(op), Outputs: outputs(op), Kind: kind(op), Pos: op.Pos, Depth: depth})
		for _, inner := range op.Blocks {
			fc.block(inner, depth+1)
		}
	}
	c.way = cheapest(c.steps, &fc.moves)
	for i, r := range c.rows {
		row := &fc.plan.Rows[r]
		row.Chosen, row.Ties = c.way.chosen[i], c.way.ties(i)
	}
	return c
}

// add appends an operation to a chain, with what each backend says of it.
func (fc *forecaster) add(c *chain, op *ir.Op, row Row) {
	work := measure(op)
	row.work = work
	rate, maybe := fc.table.find(op.Def.Name, &work)
	ms := rate.estimate(&work)
	var s step
	for b := range NumBackends {
		s[b], row.Estimates[b] = never, math.NaN()
		if !fc.allowed.Has(b) {
			continue
		}
		if row.Reasons[b] = fc.validator.refuses(b, op, fc.constant); row.Reasons[b] != "" {
			continue
		}
		row.Supported |= BackendsOf(b)
		row.Estimates[b] = ms[b]
		s[b] = fc.stepCost(b, ms[b])
	}
	for _, other := range maybe {
		alt := other.estimate(&work)
		e := edge{at: len(c.steps), from: rate, to: other}
		for b := range NumBackends {
			e.step[b] = s[b]
			if s[b] != never {
				e.step[b] = fc.stepCost(b, alt[b])
			}
		}
		c.edges = append(c.edges, e)
	}
	fc.append(c, row, s)
}

// append adds a row and its step.
func (fc *forecaster) append(c *chain, row Row, s step) {
	c.rows = append(c.rows, len(fc.plan.Rows))
	c.steps = append(c.steps, s)
	fc.plan.Rows = append(fc.plan.Rows, row)
}

// stepCost is the cost of an estimate on a backend that supports the operation. Work that is not known counts nothing;
// a backend whose rate is not known is not on the way.
func (fc *forecaster) stepCost(b Backend, ms float64) Cost {
	switch {
	case !fc.modelled.Has(b):
		return never
	case !math.IsNaN(ms):
		return costOf(ms)
	case b.Device() == CPU:
		return 0
	}
	return never
}

// constant reports whether the framework knows a value before it places operations.
func (fc *forecaster) constant(v *ir.Value) bool { return v == nil || v.IsConst() || fc.constants[v] }

// folds reports whether an operation is computed before operations are placed: it reads constants alone.
func (fc *forecaster) folds(op *ir.Op) bool {
	if ir.IsConstexpr(op) {
		return true
	}
	if op.Is(ir.OpShape) && first(op).Static() {
		return true
	}
	if op.Def.Effect != ir.Pure || len(op.Blocks) > 0 || len(op.Results) == 0 {
		return false
	}
	for _, a := range op.Args {
		for _, v := range a {
			if !fc.constant(v) {
				return len(op.Results) == 1 && op.Results[0].IsConst() // by its operand's shape
			}
		}
	}
	return true
}

// repairs adds what the framework puts before a gather whose indices are computed in int32: negative indices are made
// positive, and the indices narrowed. The CPU does that.
func (fc *forecaster) repairs(c *chain, op *ir.Op, depth int) {
	idx := op.Arg(ir.ParamIndices)
	if !isGather(op) || fc.constant(idx) || idx.Type.DType != ir.Int32 {
		return
	}
	kinds := []string{"greater_equal", "add", "select", "cast"}
	if idx.Def != nil && idx.Def.Is(ir.OpSelect) {
		kinds = kinds[3:] // the program repairs them itself
	}
	work := features{op: op, bytes: 3 * size(idx.Type)}
	rate, _ := fc.table.find("*", &work)
	ms := rate.estimate(&work)
	for _, k := range kinds {
		row := Row{
			Name:     idx.Name + "_" + k,
			Outputs:  []string{idx.Name + "_" + k},
			Kind:     k,
			Pos:      op.Pos,
			Depth:    depth,
			Inserted: "indices in int32, which the framework repairs and narrows",
		}
		var s step
		for b := range NumBackends {
			s[b], row.Estimates[b] = never, math.NaN()
			switch {
			case !fc.allowed.Has(b):
			case b == Engine:
				row.Reasons[b] = "Unsupported tensor data type: int32"
			default:
				row.Supported |= BackendsOf(b)
				row.Estimates[b] = ms[b]
				s[b] = fc.stepCost(b, ms[b])
			}
		}
		fc.append(c, row, s)
	}
}

// weigh computes the shares of the estimated time.
func (fc *forecaster) weigh() {
	total := 0.0
	for i := range fc.plan.Rows {
		total += fc.plan.Rows[i].Time()
	}
	if total == 0 {
		return
	}
	for i := range fc.plan.Rows {
		fc.plan.Rows[i].Weight = fc.plan.Rows[i].Time() / total
	}
}

// rowName returns the name of the first output; of an operation without one the name of the state that it writes.
func rowName(op *ir.Op) string {
	if len(op.Results) > 0 {
		return op.Results[0].Name
	}
	if state, _ := op.Def.StateParams(); state != "" {
		return op.Arg(state).Name
	}
	return op.Name
}

func outputs(op *ir.Op) []string {
	names := make([]string, len(op.Results))
	for i, r := range op.Results {
		names[i] = r.Name
	}
	return names
}

// kind returns an operation's name with the opset of its form, if it has forms of several.
func kind(op *ir.Op) string {
	if op.Def.Since != "" {
		return op.Def.Since + "." + op.Def.Name
	}
	if len(ir.Forms(op.Def.Name)) > 1 {
		return "ios15." + op.Def.Name
	}
	return op.Def.Name
}

// note adds what is not known about the program.
func (fc *forecaster) note(f *ir.Func) {
	p := fc.plan
	add := func(format string, args ...any) { p.Notes = append(p.Notes, fmt.Sprintf(format, args...)) }
	if len(f.Flex.Ranges) > 0 {
		add("inputs have ranges of shapes, which no dump shows; the forecast is for the default shapes")
	}
	if fc.allowed.Has(GPU) && !fc.modelled.Has(GPU) {
		add("the GPU is allowed, but its costs on the %s are not known: no operation is forecast to run there%s",
			p.Rules.Chip, fc.slow())
	}
	unknown, recurrent, states := 0, 0, 0
	for i := range p.Rows {
		r := &p.Rows[i]
		if math.IsNaN(r.Estimates[r.Chosen]) {
			unknown++
		}
		switch o := ir.Named(r.Operator()); {
		case o == nil:
		case o.Class == ir.Recurrent:
			recurrent++
		case o.Class == ir.StateAccess:
			states++
		}
	}
	if unknown > 0 {
		add("%s without an estimate: a dimension is not known, and the time counts as 0", diag.Count(unknown,
			"operation is", "operations are"))
	}
	if recurrent > 0 {
		add("the estimate of recurrent layers is not known; they run on the CPU whatever it is, and count by bytes")
	}
	if states > 0 {
		add("reads and writes of states were not seen in a dump; they count by bytes")
	}
}

// slow names what the CPU takes so long for that the GPU may be chosen instead, as text to append.
func (fc *forecaster) slow() string {
	var worst *Row
	n := 0
	for i := range fc.plan.Rows {
		r := &fc.plan.Rows[i]
		if r.Chosen.Device() == CPU && r.Supported.Has(GPU) && r.Time() > fc.plan.Gain.Visit {
			if n++; worst == nil || r.Time() > worst.Time() {
				worst = r
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", though it may take over %s that the CPU needs long for: %s, %.3f ms",
		diag.Count(n, "operation", "operations"), worst.place(), worst.Time())
}
