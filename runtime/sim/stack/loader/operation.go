package loader

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/lower/td"
)

// class is a row of the operation classes and micro-operations with a test for its tasks. The names are published; how
// a task's registers determine them is modelled.
type class struct {
	name  string // in afpp.Classes
	micro string // in afpp.MicroOperations
	is    func(t *td.Task) bool
}

func planar(t *td.Task) bool { return t.Planar() != td.NotPlanar }
func window(t *td.Task) bool { return t.Get(td.Kw) > 1 || t.Get(td.Kh) > 1 }

// classes lists the classes in the order in which they are tried.
var classes = []class{
	{"None", "NEFUSED_BYPASS", func(t *td.Task) bool { return t.On(td.TDSkip) }},
	{"Pooling", "PEFUSED_POOL", func(t *td.Task) bool { return t.Planar().Reduces() && window(t) }},
	{"Reduction", "PEFUSED_POOL", func(t *td.Task) bool { return t.Planar().Reduces() }},
	{"ScaledElementWise", "PEFUSED_ELEMENTWISE", func(t *td.Task) bool {
		return planar(t) && (t.Get(td.PEScale) != td.FP16One || t.Get(td.PEBias) != 0)
	}},
	{"ElementWise", "PEFUSED_ELEMENTWISE", planar},
	{"NEMatMul", "NEFUSED_MATMUL", (*td.Task).LiveKernel},
	{"NEConv", "NEFUSED_CONV", func(t *td.Task) bool { return t.Multiplies() }},
	{"Neuron", "NEFUSED_BYPASS", func(t *td.Task) bool { return t.NeuralOp() == td.NEPass && t.On(td.Nonlinear) }},
	{"GOC", "NEFUSED_BYPASS", func(t *td.Task) bool { return t.NeuralOp() == td.NEPass }},
	{"Reduction", "NEFUSED_POOL", func(*td.Task) bool { return true }}, // a sum or a maximum over channels
}

func classOf(t *td.Task) *class { // the last is that of every task
	return &classes[slices.IndexFunc(classes, func(c class) bool { return c.is(t) })]
}

// operations builds the operation table: an operation is a run of tasks of one class and micro-operation in one
// procedure, named by class and first task.
func (p *Program) operations(tasks []*td.Task) {
	next := 0
	for _, pr := range p.procs {
		pr.first = len(p.ops)
		var last *class
		for range pr.tasks {
			c := classOf(tasks[next])
			if last == nil || c.name != last.name || c.micro != last.micro {
				p.ops = append(p.ops, afpp.Operation{
					Name:      fmt.Sprintf("%s_%d", c.name, next),
					Class:     uint16(slices.Index(afpp.Classes, c.name)),
					Micro:     uint16(slices.Index(afpp.MicroOperations, c.micro)),
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
