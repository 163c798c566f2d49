package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/zinc-compiler/zinc/compile/attest"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// Container is what a compiled container takes, from its own tasks: there is no model to name statements of, and what
// the host does beside the engine is in the descriptor.
type Container struct {
	Container     string          `json:"container"`      // path
	Target        string          `json:"target"`         // whose tasks they are
	CostOf        string          `json:"cost_of"`        // target on which the costs were measured
	Known         string          `json:"known_error"`    // error of the model of cost, as known from measurements
	ConstantBytes int64           `json:"constant_bytes"` // of all constant sections
	TextBytes     int64           `json:"text_bytes"`     // of the tasks
	Tasks         int             `json:"tasks"`          // of all procedures
	Attested      int             `json:"attested"`       // of them, of kinds recorded from Apple's compiler
	Procedures    []ProcedureTime `json:"procedures"`     // in the order of the container
}

// ProcedureTime is what a call of one procedure takes.
type ProcedureTime struct {
	Name  string     `json:"name"`     // symbol
	Time  cost.Time  `json:"us"`       // of a call: dispatch, inputs and outputs, tasks
	Terms cost.Split `json:"terms_us"` // by the limiting term of each task; adds up to Time
	Band  cost.Band  `json:"band"`     // that the known error of the estimate allows
	Tasks []TaskTime `json:"tasks"`    // in the order of the chain
}

// TaskTime is what one task takes.
type TaskTime struct {
	Task     int       `json:"task"`      // index in the chain
	Does     string    `json:"does"`      // by its words
	Time     cost.Time `json:"us"`        // estimated time
	Bound    string    `json:"binding"`   // the largest term
	DMABytes int64     `json:"dma_bytes"` // moved between memory and the engine
	Kind     string    `json:"kind"`      // what it computes, without sizes (compile/attest)
	Attested bool      `json:"attested"`  // recorded programs have tasks of the kind
}

// NewContainer estimates the programs of a container on a target whose tasks it has.
func NewContainer(path string, f *hwx.File, programs []td.Program, on *target.Table) *Container {
	c := &Container{Container: path, Target: on.Name, CostOf: cost.RatesOf(on).Target(), Known: cost.Known(on),
		ConstantBytes: int64(len(f.ConstantBytes())), TextBytes: int64(len(f.TextBytes()))}
	for i := range programs {
		p := newProcedureTime(&programs[i], f, on)
		c.Tasks += len(p.Tasks)
		for _, t := range p.Tasks {
			if t.Attested {
				c.Attested++
			}
		}
		c.Procedures = append(c.Procedures, p)
	}
	return c
}

func newProcedureTime(from *td.Program, f *hwx.File, on *target.Table) ProcedureTime {
	p := ProcedureTime{Name: from.Name, Tasks: []TaskTime{}}
	var in, out int64
	for _, t := range f.Tensors() {
		switch {
		case t.Procedure != from.Name:
		case t.Binding == hwx.BindInput:
			in += int64(t.Span)
		default:
			out += int64(t.Span)
		}
	}
	p.Terms[cost.Dispatch], p.Terms[cost.Hand] = cost.Overhead(on), cost.Handing(in, out, on)
	parts := cost.PartTimes{cost.PartDispatch: p.Terms[cost.Dispatch], cost.PartWork: p.Terms[cost.Hand]}
	for i, t := range from.Tasks {
		e, kind := cost.Estimate(t, on), attest.Kind(t, i, len(from.Tasks))
		p.Terms[e.Bound] += e.Time
		parts[partOf(t, &e)] += e.Time
		p.Tasks = append(p.Tasks, TaskTime{Task: i, Does: t.Summary().Work(), Time: e.Time, Bound: e.Bound.String(),
			DMABytes: e.Bytes(), Kind: kind, Attested: len(attest.Cases(on.Version, kind)) > 0})
	}
	p.Time, p.Band = p.Terms.Total(), cost.RatesOf(on).Band(&parts)
	return p
}

// partOf returns the part of a call whose band a task has, by its words alone: a product with a kernel that is computed
// is taken as attention, and what is between two of those, and an RMS norm, as other work.
func partOf(t *td.Task, e *cost.Task) cost.Part {
	switch {
	case t.LiveKernel():
		return cost.PartAttention
	case e.Weighty:
		return cost.PartWeights
	}
	return cost.PartWork
}

// Text writes one page: what a call takes, where it goes, and the slowest tasks; all lists every task in order.
func (c *Container) Text(w io.Writer, all bool) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s, target %s, %s, %s of tasks, %s of constants\n", c.Container, c.Target,
		diag.Count(c.Tasks, "task", "tasks"), ShortBytes(c.TextBytes), ShortBytes(c.ConstantBytes))
	for i := range c.Procedures {
		c.Procedures[i].text(&b, all)
	}
	fmt.Fprintf(&b, "\n%s See docs/cost.md.\n", cost.Error(c.Target))
	fmt.Fprintf(&b, "tasks of kinds recorded from Apple's compiler: %d of %d\n", c.Attested, c.Tasks)
	b.WriteString("A container has no statements: for what to change, and for the CPU's part, check the model that " +
		"it was compiled from.\n")
	_, err := w.Write(b.Bytes())
	return err
}

func (p *ProcedureTime) text(b *bytes.Buffer, all bool) {
	fmt.Fprintf(b, "\n%s a call of procedure %s\n", p.Band.Within(p.Time), p.Name)
	terms := []cost.Term{}
	for i := range p.Terms {
		if p.Terms[i] > 0 {
			terms = append(terms, cost.Term(i))
		}
	}
	slices.SortStableFunc(terms, func(x, y cost.Term) int { return cmp.Compare(p.Terms[y], p.Terms[x]) })
	for _, t := range terms {
		fmt.Fprintf(b, "  %8s  %4s  %s\n", p.Terms[t].Short(), shareOf(p.Terms[t], p.Time),
			partNamed(t.String()).Name+", "+partNamed(t.String()).Doc)
	}
	list, title, most := slices.Clone(p.Tasks), "Tasks in order", len(p.Tasks)
	if !all {
		title, most = "Slowest tasks", min(answerKinds, len(list))
		slices.SortStableFunc(list, func(x, y TaskTime) int { return cmp.Compare(y.Time, x.Time) })
	}
	fmt.Fprintf(b, "%s\n", title)
	for _, t := range list[:most] {
		fmt.Fprintf(b, "  %8s  %4s  task %d: %s, bound by %s\n", t.Time.Short(), shareOf(t.Time, p.Time), t.Task,
			t.Does, t.Bound)
	}
	var rest cost.Time
	for _, t := range list[most:] {
		rest += t.Time
	}
	if n := len(list) - most; n > 0 {
		fmt.Fprintf(b, "  %8s  %4s  %s\n", rest.Short(), shareOf(rest, p.Time), diag.Count(n, "other task",
			"other tasks"))
	}
}
