package compile

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile/attest"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// Estimate is the time that part of a program takes on the engine, according to the model of package cost. It does not
// include work on the CPU, which is in Report.CPU.
type Estimate struct {
	Time     cost.Time  `json:"us"`            // estimated time
	Cycles   int64      `json:"cycles"`        // of the engine; 0 for the time of the dispatch itself
	Bound    string     `json:"binding"`       // the largest term, "" where nothing runs on the engine
	Terms    cost.Split `json:"terms_us"`      // by the limiting term of each task; adds up to Time
	DMABytes int64      `json:"dma_bytes"`     // bytes moved between memory and the engine
	L2Peak   int64      `json:"l2_peak_bytes"` // most bytes of L2 in use at once
	// Of a report only.
	Roof   *Roof        `json:"roofline,omitempty"`        // what bounds products and DMA
	Stages []cost.Stage `json:"dispatch_stages,omitempty"` // of each dispatch
	CostOf string       `json:"cost_of,omitempty"`         // target on which the costs were measured
	Known  string       `json:"known_error,omitempty"`     // error of the model of cost, as known from measurements
	// Coefficients of products that DMA reads as fp16.
	DenseBytes int64 `json:"dense_weight_bytes,omitempty"`
	// What the call would take less with these in the compressed forms that the target's hardware reads.
	Forms []FormTime `json:"compressed_forms,omitempty"`

	apart cost.PartTimes // of tasks whose estimates have a band of their own
}

// Roof is what an operation that multiplies and moves bytes can reach at most, by the rates of the estimate.
type Roof struct {
	MACs  float64 `json:"macs"`  // multiply-accumulates a second, of fp16 with all cores
	Bytes float64 `json:"bytes"` // bytes of DMA a second
}

// FormTime is what a compressed form of all dense coefficients would save.
type FormTime struct {
	Form  string    `json:"form"`     // of cost.Forms
	Saves cost.Time `json:"saves_us"` // less time of a call
	// Written is set if zinc writes weights that the model stores in the form as they are stored.
	Written bool `json:"written,omitempty"`
}

// forms adds what compressed forms would save in a task.
func (e *Estimate) forms(t *cost.Task, tab *target.Table) {
	e.DenseBytes += t.Dense
	o := Estimate{}
	for i := range cost.Forms {
		if f := &cost.Forms[i]; tab.Streams(f.Name) {
			o.Forms = append(o.Forms, FormTime{f.Name, t.Saves(f, tab), lower.Writes(f.Name)})
		}
	}
	e.mergeForms(&o)
}

func (e *Estimate) mergeForms(o *Estimate) {
	for i, f := range o.Forms {
		if i == len(e.Forms) {
			e.Forms = append(e.Forms, FormTime{Form: f.Form, Written: f.Written})
		}
		e.Forms[i].Saves += f.Saves
	}
}

// add adds a task.
func (e *Estimate) add(t cost.Task) {
	o := Estimate{Cycles: t.Cycles, DMABytes: t.Bytes(), L2Peak: t.L2End}
	o.Terms[t.Bound] = t.Time
	e.merge(&o)
}

// merge adds another estimate.
func (e *Estimate) merge(o *Estimate) {
	e.Terms.Add(o.Terms)
	e.Time = e.Terms.Total()
	if e.Time > 0 {
		e.Bound = e.Terms.Binding().String()
	}
	e.Cycles += o.Cycles
	e.DMABytes += o.DMABytes
	e.L2Peak = max(e.L2Peak, o.L2Peak)
	e.DenseBytes += o.DenseBytes
	e.mergeForms(o)
	for p, t := range o.apart {
		e.apart[p] += t
	}
}

func (e *Estimate) copy() *Estimate {
	c := *e
	c.Forms = slices.Clone(e.Forms)
	return &c
}

// text returns the engine's part of the estimate of a report as text.
func (e *Estimate) text(w io.Writer) {
	var parts []string
	for i, t := range e.Terms {
		if t > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", t.Short(), cost.Term(i)))
		}
	}
	fmt.Fprintf(w, "the engine's part: %s", e.Time.Short())
	if len(parts) > 0 {
		fmt.Fprintf(w, " (%s), bound by %s", strings.Join(parts, ", "), e.Bound)
	}
	fmt.Fprintf(w, "; %d cycles, %d bytes of DMA, %d bytes of L2 at most\n", e.Cycles, e.DMABytes, e.L2Peak)
	fmt.Fprintf(w, "the engine's part is %s\n", e.Known)
}

// estimate fills in the estimates of the report, its operations and its dispatches; index maps an operation to its
// index in Report.Ops. f is the chain of operations, nil in a plan.
func (u *unit) estimate(index map[*ir.Op]int, f *e5.Function) {
	if f == nil && u.rep.Dispatches > 0 {
		return // a plan
	}
	tab := u.state.Target
	rates := cost.RatesOf(tab)
	all := &Estimate{
		Roof: &Roof{rates.Products / 2, rates.DMA}, Stages: cost.Stages(tab), CostOf: rates.Target(),
		Known: cost.Known(tab),
	}
	u.rep.Estimate = all
	ops := slices.SortedFunc(maps.Keys(index), func(a, b *ir.Op) int { return index[a] - index[b] })
	u.parts = partsOf(ops)
	u.eachTask(index, func(op, dispatch, _ int, a *assessment) {
		t := a.cost
		o, d := &u.rep.Ops[op], &u.rep.DispatchList[dispatch]
		for _, e := range []**Estimate{&o.Estimate, &d.Estimate} {
			if *e == nil {
				*e = new(Estimate)
			}
			(*e).add(t)
		}
		o.Tasks++
		d.Tasks++
		all.add(t)
		all.forms(&t, tab)
		if p := u.partOf(op, &t); p != cost.PartWork {
			all.apart[p] += t.Time
		}
	})
	n := 0
	for _, c := range chainsOf(f) {
		for k := range c.Inferences {
			d := &u.rep.DispatchList[n]
			n++
			if d.Estimate == nil {
				d.Estimate = new(Estimate)
			}
			d.Chained = k > 0
			once := &Estimate{Terms: dispatchTime(&c, k, tab)}
			d.Estimate.merge(once)
			all.merge(once)
		}
	}
}

// dispatchTime returns the time of inference k of a chain without its tasks.
func dispatchTime(c *e5.Chain, k int, tab *target.Table) (s cost.Split) {
	if k > 0 {
		s[cost.Dispatch] = cost.Chained(tab)
		return s
	}
	s[cost.Dispatch] = cost.Overhead(tab)
	s[cost.Hand] = cost.Handing(int64(c.HandedIn), int64(c.HandedOut), tab)
	return s
}

// chainsOf returns the chains of a function, which may be nil.
func chainsOf(f *e5.Function) []e5.Chain {
	if f == nil {
		return nil
	}
	return f.Chains()
}

// assessment is what the report says of a task by itself.
type assessment struct {
	cost cost.Task
	kind string
}

// assessments makes assessments, and few that are equal: of the tasks of a long model most are.
type assessments struct {
	target *target.Table
	kinds  map[string]string // one string for each
	kind   []byte            // of the last task
	known  map[assessment]*assessment
}

// maxKnown bounds the assessments that later ones are compared with.
const maxKnown = 1 << 12

func newAssessments(tab *target.Table) *assessments {
	return &assessments{target: tab, kinds: map[string]string{}, known: map[assessment]*assessment{}}
}

// of assesses task i of n of a procedure.
func (k *assessments) of(t *td.Task, i, n int) *assessment {
	k.kind = attest.AppendKind(k.kind[:0], t, i, n)
	kind, ok := k.kinds[string(k.kind)]
	if !ok {
		kind = string(k.kind)
		k.kinds[kind] = kind
	}
	a := assessment{cost.Estimate(t, k.target), kind}
	if same, ok := k.known[a]; ok {
		return same
	}
	if len(k.known) < maxKnown {
		k.known[a] = &a
	}
	return &a
}

// perTask returns what sees each task of the next procedure, nil for nothing.
func (d *driver) perTask(u *unit) emitFunc {
	if d.to == tasks || d.sink.Report != nil {
		return u.assessor(d.codec)
	}
	return nil
}

// assessor returns an emitFunc for the next procedure that assesses its tasks.
func (u *unit) assessor(codec *td.Codec) emitFunc {
	k, known := len(u.assessed), newAssessments(u.state.Target)
	u.assessed = append(u.assessed, nil)
	return func(t *td.Task, _ []int, follow int) error {
		of := slices.Grow(u.assessed[k], 1+follow)
		u.assessed[k] = append(of, known.of(t, len(of), len(of)+1+follow))
		u.rep.TaskBytes += int64(codec.AlignUp(4 * codec.Words(t)))
		return nil
	}
}

// eachTask calls f for every task of the unit with the operation it works for (an
// index into Report.Ops), the dispatch it is part of, its index there, and its assessment.
func (u *unit) eachTask(index map[*ir.Op]int, f func(op, dispatch, task int, a *assessment)) {
	k := 0
	for _, st := range u.state.Partitions {
		if st.Unit != ir.Engine {
			continue
		}
		p := u.procs[k]
		for i := range p.Infos {
			at, ok := index[p.Infos[i].Op]
			if !ok { // a copy of what the step was passed
				at = index[st.Ops[len(st.Ops)-1]]
			}
			f(at, k, i, u.assessed[k][i])
		}
		k++
	}
}
