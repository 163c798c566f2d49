package report

import (
	"encoding/csv"
	"io"
	"iter"
	"slices"
	"strconv"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/ir"
)

// Kinds of layers.
const (
	KindOp       = "operation"
	KindDispatch = "dispatch" // getting to the engine and back, inputs and outputs included
	KindPadding  = "padding"  // bytes of the constant section that no operation reads
)

// Layer is one line of the per-layer report.
type Layer struct {
	Kind     string
	Function string
	// OpReport is the operation. Of other kinds it has the step, the unit and the bytes of constants, to which all
	// layers add up.
	compile.OpReport
	Why      string
	Verdict  string // of an operation on the CPU
	Cycles   int64
	Time     cost.Time // where it runs
	Bound    string    // "" without an estimate
	DMABytes int64
	L2Peak   int64
}

// Layers lists the operations of a report, function by function and in order, the
// dispatches before their first operation, and last what is left of the constants.
func Layers(r *compile.Report) []Layer {
	var out []Layer
	left, padding := r.Weights, r.Padding
	for _, f := range r.Each() {
		next := 0
		dispatch := func(before int) {
			for ; next < len(f.DispatchList) && f.DispatchList[next].Step <= before; next++ {
				d := &f.DispatchList[next]
				if d.Estimate == nil {
					continue // plans lack estimates
				}
				var own cost.Split
				for _, t := range []cost.Term{cost.Dispatch, cost.Hand} {
					own[t] = d.Estimate.Terms[t]
				}
				out = append(out, Layer{
					Kind: KindDispatch, Function: f.Function, Why: cause(f, d), Time: own.Total(),
					Bound:    own.Binding().String(),
					OpReport: compile.OpReport{Step: d.Step, Unit: ir.Engine.String()},
				})
			}
		}
		for i := range f.Ops {
			o := &f.Ops[i]
			dispatch(o.Step)
			l := Layer{Kind: KindOp, Function: f.Function, OpReport: *o, Why: o.Reason, Time: o.Time()}
			if o.Refusal != nil {
				l.Verdict = string(o.Refusal.Verdict)
			}
			if o.Fused != "" {
				l.Why = "fused into " + o.Fused
			}
			if e := o.Estimate; e != nil {
				l.Cycles, l.Bound, l.DMABytes, l.L2Peak = e.Cycles, e.Bound, e.DMABytes, e.L2Peak
			}
			left -= o.Weights
			padding -= o.Padding
			out = append(out, l)
		}
	}
	if left > 0 {
		out = append(out, Layer{Kind: KindPadding, Why: "alignment, and constants of the format itself",
			OpReport: compile.OpReport{Weights: left, Padding: padding}})
	}
	return out
}

// cause returns why a dispatch begins.
func cause(f *compile.Report, d *compile.Dispatch) string {
	s := d.Why()
	if len(d.CutBy) > 0 {
		o := &f.Ops[d.CutBy[0]]
		s += o.Op + " " + strconv.Quote(o.Name)
	}
	return s
}

// column is a column of a CSV file.
type column[T any] struct {
	name string
	of   func(row *T) string
}

// layerColumns are the columns of the per-layer CSV.
var layerColumns = []column[Layer]{
	{"kind", func(l *Layer) string { return l.Kind }},
	{"function", func(l *Layer) string { return l.Function }},
	{"step", func(l *Layer) string { return number(l.Step, l.Kind != KindPadding) }},
	{"op", func(l *Layer) string { return l.Op }},
	{"name", func(l *Layer) string { return l.Name }},
	{"unit", func(l *Layer) string { return l.Unit }},
	{"why", func(l *Layer) string { return l.Why }},
	{"rule", func(l *Layer) string { return l.Rule }},
	{"tasks", func(l *Layer) string { return number(l.Tasks, true) }},
	{"macs", func(l *Layer) string { return number(l.MACs, true) }},
	{"cycles", func(l *Layer) string { return number(l.Cycles, l.Bound != "") }},
	{"us", func(l *Layer) string { return micros(l.Time, l.Bound != "") }},
	{"binding", func(l *Layer) string { return l.Bound }},
	{"dma_bytes", func(l *Layer) string { return number(l.DMABytes, l.Bound != "") }},
	{"l2_peak_bytes", func(l *Layer) string { return number(l.L2Peak, l.Bound != "") }},
	{"weight_bytes", func(l *Layer) string { return number(l.Weights, true) }},
	{"line", func(l *Layer) string { return number(l.Line, l.Line > 0) }},
	{"column", func(l *Layer) string { return number(l.Col, l.Col > 0) }},
	{"padding_bytes", func(l *Layer) string { return number(l.Padding, true) }},
	{"shared_weight_bytes", func(l *Layer) string { return number(l.Shared, true) }},
	{"verdict", func(l *Layer) string { return l.Verdict }},
	{"call_us", func(l *Layer) string { return micros(l.Time, l.Kind != KindPadding) }},
}

// number returns a number as text, or "" if it is not known.
func number[T int | int32 | int64](n T, known bool) string {
	if !known {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}

func micros(t cost.Time, known bool) string {
	if !known {
		return ""
	}
	return t.String()
}

// writeCSV writes a line with the names of columns, and one for each row.
func writeCSV[T any](w io.Writer, columns []column[T], rows iter.Seq[*T]) error {
	c := csv.NewWriter(w)
	cells := make([]string, len(columns))
	for i, col := range columns {
		cells[i] = col.name
	}
	c.Write(cells)
	for r := range rows {
		for i, col := range columns {
			cells[i] = col.of(r)
		}
		c.Write(cells)
	}
	c.Flush()
	return c.Error()
}

func writeLayers(w io.Writer, d *Document) error {
	return writeCSV(w, layerColumns, func(yield func(*Layer) bool) {
		for _, l := range Layers(d.Report) {
			if !yield(&l) {
				return
			}
		}
	})
}

// summaryColumns are the columns of the summary CSV.
var summaryColumns = []column[compile.Report]{
	{"function", func(r *compile.Report) string { return r.Function }},
	{"target", func(r *compile.Report) string { return r.Target }},
	{"precision", func(r *compile.Report) string { return r.Precision }},
	{"engine_ops", func(r *compile.Report) string { return number(r.EngineOps, true) }},
	{"cpu_ops", func(r *compile.Report) string { return number(r.CPUOps, true) }},
	{"transfer_ops", func(r *compile.Report) string { return number(r.Transfers, true) }},
	{"engine_macs", func(r *compile.Report) string { return number(r.EngineMACs, true) }},
	{"cpu_macs", func(r *compile.Report) string { return number(r.CPUMACs, true) }},
	{"dispatches", func(r *compile.Report) string { return number(r.Dispatches, true) }},
	{"cpu_calls", func(r *compile.Report) string { return number(r.CPUCalls, true) }},
	{"tasks", func(r *compile.Report) string { return number(r.Tasks, true) }},
	{"attested_tasks", func(r *compile.Report) string { return number(r.Attested, true) }},
	{"cycles", func(r *compile.Report) string { return number(estimate(r).Cycles, r.Estimate != nil) }},
	{"us", func(r *compile.Report) string { return micros(estimate(r).Time, r.Estimate != nil) }},
	{"dispatch_us", term(cost.Dispatch)},
	{"macs_us", term(cost.Products)},
	{"dma_us", term(cost.DMA)},
	{"l2_us", term(cost.L2)},
	{"binding", func(r *compile.Report) string { return estimate(r).Bound }},
	{"dma_bytes", func(r *compile.Report) string { return number(estimate(r).DMABytes, r.Estimate != nil) }},
	{"l2_peak_bytes", func(r *compile.Report) string { return number(estimate(r).L2Peak, r.Estimate != nil) }},
	{"weight_bytes", func(r *compile.Report) string { return number(r.Weights, true) }},
	{"scratch_bytes", func(r *compile.Report) string { return number(r.Scratch, true) }},
	{"casts", func(r *compile.Report) string { return number(r.Casts, true) }},
	{"padding_bytes", func(r *compile.Report) string { return number(r.Padding, true) }},
	{"io_us", term(cost.Hand)},
	{"cpu_us", func(r *compile.Report) string { return micros(r.CPU, true) }},
	{"call_us", func(r *compile.Report) string { return micros(r.CallTime(), r.Estimate != nil) }},
}

// estimate returns a report's estimate, or an empty one.
func estimate(r *compile.Report) *compile.Estimate {
	if r.Estimate == nil {
		return &compile.Estimate{}
	}
	return r.Estimate
}

func term(t cost.Term) func(r *compile.Report) string {
	return func(r *compile.Report) string { return micros(estimate(r).Terms[t], r.Estimate != nil) }
}

// writeSummary writes a line for each function and, if there are several, one for all of
// them. The functions share the constants, so each line counts all of them.
func writeSummary(w io.Writer, d *Document) error {
	return writeCSV(w, summaryColumns, slices.Values(append(slices.Clip(d.Report.Functions), d.Report)))
}
