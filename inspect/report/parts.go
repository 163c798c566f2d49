package report

import (
	"embed"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/diag"
)

// Uses of the time of a call that other text of the page names.
const (
	useDispatch = "dispatch"
	useHand     = "io"
	useCPU      = compile.UseCPU
)

// Part names a use of the time of a call for people. Every page and text has the same names, and pages their order and
// the colours of parts.css.
type Part struct {
	Use  string // as in compile.CallPart
	Name string
	Doc  string // what it is
}

// Parts are all uses, in the order of a call.
var Parts = []Part{
	{useDispatch, "dispatch", "getting to the engine and back"},
	{useHand, "handing over", "copies of inputs and outputs"},
	{cost.DMA.String(), "DMA", "constants and tensors in memory"},
	{cost.Products.String(), "products", "multiply-accumulates of the engine"},
	{cost.L2.String(), "L2", "tensors in the engine's memory"},
	{useCPU, "CPU", "operations outside the engine"},
}

// Shared has what other pages share with the report: parts.css, the colours of Parts, parts.js, their names, and
// charts.js, which draws a Drawing.
//
//go:embed parts.css parts.js charts.js
var Shared embed.FS

//go:embed parts.css
var partColors string

// partNamed returns the part with a use.
func partNamed(use string) Part {
	return Parts[slices.IndexFunc(Parts, func(p Part) bool { return p.Use == use })]
}

// line names a part of the time of a call, with how often it occurs where that says something.
func (p Part) line(r *compile.Report) string {
	switch p.Use {
	case useDispatch:
		return fmt.Sprintf("%s x %d, %s", p.Name, r.Dispatches, p.Doc)
	case useCPU:
		return fmt.Sprintf("%s, %s in %s", p.Name, diag.Count(r.CPUOps, "operation", "operations"),
			diag.Count(r.CPUCalls, "call", "calls"))
	}
	return p.Name + ", " + p.Doc
}
