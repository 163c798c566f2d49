package report

import (
	"bytes"
	"fmt"

	"github.com/zinc-compiler/zinc/analysis/coreml"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
)

// CoreML is where Core ML itself is forecast to run the model, whose places in the report are zinc's.
type CoreML struct {
	Rules     string                `json:"rules"`             // name of the rules of the forecast
	Chip      string                `json:"chip"`              // whose rules they are
	System    string                `json:"system"`            // version of the system that they were read from
	Units     coreml.Units          `json:"units"`             // compute units that are allowed
	Functions []coreml.FunctionJSON `json:"functions"`         // forecasts, without their operations
	Differ    []Elsewhere           `json:"differ,omitempty"`  // operations that zinc has elsewhere, in program order
	Command   string                `json:"command,omitempty"` // command that prints the forecast
}

// Elsewhere is an operation that runs on the engine by zinc's places and not by Core ML's, or the reverse.
type Elsewhere struct {
	Function string        `json:"function"`         // name of the function
	Op       string        `json:"op"`               // name of the operation
	Name     string        `json:"name"`             // of its first result
	Line     int32         `json:"line,omitempty"`   // in the model's text
	Unit     string        `json:"unit"`             // where zinc runs it
	Device   coreml.Device `json:"device"`           // where Core ML is forecast to run it
	Reason   string        `json:"reason,omitempty"` // why Core ML's engine refuses it, if it does
}

// NewCoreML compares forecasts of the functions of a program with the places in a report. An operation that zinc
// rewrote to others is in neither list.
func NewCoreML(plans []*coreml.Plan, r *compile.Report) *CoreML {
	if len(plans) == 0 {
		return nil
	}
	rules := plans[0].Rules
	c := &CoreML{Rules: rules.Name, Chip: rules.Chip, System: rules.System, Units: plans[0].Units}
	type key struct{ function, name string }
	units := map[key]string{}
	for _, f := range r.Each() {
		for i := range f.Ops {
			units[key{f.Function, f.Ops[i].Name}] = f.Ops[i].Unit
		}
	}
	for _, p := range plans {
		c.Functions = append(c.Functions, p.JSON())
		for i := range p.Rows {
			row := &p.Rows[i]
			unit, ok := units[key{p.Function, row.Name}]
			if !ok || row.Inserted != "" || unit == ir.Transfer.String() {
				continue
			}
			if (unit == ir.Engine.String()) == (row.Chosen == coreml.Engine) {
				continue
			}
			c.Differ = append(c.Differ, Elsewhere{
				Function: p.Function,
				Op:       row.Operator(),
				Name:     row.Name,
				Line:     row.Pos.Line,
				Unit:     unit,
				Device:   row.Chosen.Device(),
				Reason:   row.Reasons[coreml.Engine],
			})
		}
	}
	return c
}

// String says in one line whose places a report has, and what Core ML's would be.
func (c *CoreML) String() string {
	engine, all := 0, 0
	for _, f := range c.Functions {
		engine += f.EngineOps
		all += f.EngineOps + f.CPUOps + f.GPUOps
	}
	s := fmt.Sprintf("these places are zinc's; Core ML itself (%s, %s) is forecast to run %d of %s on the engine",
		c.Chip, c.System, engine, diag.Count(all, "operation", "operations"))
	if n := len(c.Differ); n > 0 {
		s += fmt.Sprintf(", %d not as here", n)
	}
	return s
}

// answerCoreML writes the line about Core ML's own places.
func answerCoreML(b *bytes.Buffer, d *Document) {
	if d.CoreML == nil {
		return
	}
	fmt.Fprintf(b, "%s", d.CoreML)
	if d.CoreML.Command != "" {
		fmt.Fprintf(b, ": %s", d.CoreML.Command)
	}
	b.WriteByte('\n')
}
