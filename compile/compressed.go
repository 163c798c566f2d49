package compile

import (
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// CompressedInfo says what became of a constant that the model holds in a
// compressed form.
type CompressedInfo struct {
	Name     string `json:"name"`
	Line     int32  `json:"line,omitempty"`
	Form     string `json:"form"`
	Stored   int64  `json:"stored_bytes"`   // in the model: values, tables, masks, scales
	Streamed int64  `json:"streamed_bytes"` // to the engine, 0 when the engine does not read it
	// CouldStream says that the target's hardware takes the form as it is stored.
	CouldStream bool   `json:"could_stream"`
	Why         string `json:"why"`
}

// coefficientBytes is the size of a dense coefficient.
const coefficientBytes = 2

// compressed fills in the report's compressed constants.
func (d *driver) compressed() {
	units := map[*ir.Value]ir.Unit{}
	for _, st := range d.state.Steps {
		for _, op := range st.Ops {
			reads(op, func(v *ir.Value) {
				if units[v] != ir.Engine {
					units[v] = op.Place.Unit
				}
			})
		}
	}
	t := d.o.Target
	for _, c := range d.state.Compressed {
		info := CompressedInfo{
			Name: c.Value.Name, Line: c.Pos.Line, Form: c.Form, Stored: c.Stored,
			CouldStream: c.Stream != "" && t.Streams(c.Stream),
			Streamed:    max(c.Value.Type.Elems(), 0) * coefficientBytes,
		}
		takes := fmt.Sprintf("%s streams only %s", t.Name, strings.Join(t.StreamForms, ", "))
		if info.CouldStream {
			takes = fmt.Sprintf("%s could stream %s, zinc writes dense fp16 coefficients only", t.Name, c.Stream)
		}
		switch unit, used := units[c.Value]; {
		case used && unit != ir.Engine:
			info.Streamed, info.Why = 0, "dense: the CPU reads it"
		case used:
			info.Why = "dense: " + takes
		default:
			info.Why = "dense, and rewritten with the operation that reads it: " + takes
		}
		d.rep.Compressed = append(d.rep.Compressed, info)
	}
}
