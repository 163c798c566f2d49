package loader

import (
	"fmt"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/lower/td"
)

// class is a row of the operation-class enumeration (table 23.13) with a test for its tasks. Codes and names are the
// table's; how a task's registers determine its class is modelled.
type class struct {
	code uint32
	name string
	is   func(t *td.Task) bool
}

func planar(t *td.Task) bool { return t.Planar() != td.NotPlanar }
func window(t *td.Task) bool { return t.Get(td.Kw) > 1 || t.Get(td.Kh) > 1 }

// classes lists the classes in the order in which they are tried.
var classes = []class{
	{0, "None", func(t *td.Task) bool { return t.On(td.TDSkip) }},
	{2, "Pooling", func(t *td.Task) bool { return t.Planar().Reduces() && window(t) }},
	{20, "Reduction", func(t *td.Task) bool { return t.Planar().Reduces() }},
	{5, "ScaledElementWise", func(t *td.Task) bool {
		return planar(t) && (t.Get(td.PEScale) != td.FP16One || t.Get(td.PEBias) != 0)
	}},
	{4, "ElementWise", planar},
	{69, "NEMatMul", func(t *td.Task) bool { return t.Multiplies() && t.On(td.KernelSurface) }},
	{68, "NEConv", func(t *td.Task) bool { return t.Multiplies() }},
	{6, "Neuron", func(t *td.Task) bool { return t.NeuralOp() == td.NEPass && t.On(td.Nonlinear) }},
	{8, "GOC", func(t *td.Task) bool { return t.NeuralOp() == td.NEPass }},
	{20, "Reduction", func(*td.Task) bool { return true }}, // a sum or a maximum over channels
}

func classOf(t *td.Task) *class {
	for i := range classes {
		if classes[i].is(t) {
			return &classes[i]
		}
	}
	return &classes[0]
}

// operations builds the operation table: an operation is a run of tasks of one class in one procedure, named by class
// and first task.
func (p *Program) operations(tasks []*td.Task) {
	next := 0
	for _, pr := range p.procs {
		pr.first = len(p.ops)
		var last *class
		for range pr.tasks {
			c := classOf(tasks[next])
			if last == nil || c.code != last.code {
				p.ops = append(p.ops, afpp.Operation{
					Name:      fmt.Sprintf("%s_%d", c.name, next),
					Class:     c.code,
					FirstTask: uint32(next),
				})
			}
			p.ops[len(p.ops)-1].Tasks++
			last = c
			next++
		}
		pr.ops = len(p.ops) - pr.first
	}
}
