package compile

import (
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// CompressedInfo says what became of a constant that the model stores in compressed form.
type CompressedInfo struct {
	Name     string `json:"name"`           // name of the constant
	Line     int32  `json:"line,omitempty"` // line of the statement, from 1
	Form     string `json:"form"`           // how the model stores it
	Stored   int64  `json:"stored_bytes"`   // in the model: values, tables, masks, scales
	Streamed int64  `json:"streamed_bytes"` // sent to the engine, 0 when the engine does not read it
	// CouldStream says that the target's hardware accepts the form as it is stored.
	CouldStream bool   `json:"could_stream"`
	Why         string `json:"why"` // why the engine reads it in this form
}

// coefficientBytes is the size of a dense coefficient.
const coefficientBytes = 2

// compressed fills in the report's compressed constants.
func (u *unit) compressed() {
	units := map[*ir.Value]ir.Unit{}
	for _, st := range u.state.Steps {
		for _, op := range st.Ops {
			op.Reads(func(v *ir.Value) {
				if units[v] != ir.Engine {
					units[v] = op.Place.Unit
				}
			})
		}
	}
	result := map[*ir.Value]bool{}
	for _, v := range u.state.Func.Body.Outputs {
		result[v] = true
	}
	t := u.state.Target
	for _, c := range u.state.Compressed {
		info := CompressedInfo{
			Name: c.Name, Line: c.Pos.Line, Form: c.Form, Stored: c.Stored,
			CouldStream: c.Stream != "" && t.Streams(c.Stream),
		}
		used, returned := false, false
		for _, v := range c.Values {
			unit, ok := units[v]
			used, returned = used || ok, returned || result[v]
			if unit == ir.Engine {
				info.Streamed += max(v.Type.Elems(), 0) * coefficientBytes
			}
		}
		takes := fmt.Sprintf("%s streams only %s", t.Name, strings.Join(t.StreamForms, ", "))
		if info.CouldStream {
			takes = fmt.Sprintf("%s could stream %s, zinc writes dense fp16 coefficients only", t.Name, c.Stream)
		}
		switch {
		case info.Streamed > 0:
			info.Why = "dense: " + takes
		case used:
			info.Why = "dense: the CPU reads it"
		case returned:
			info.Why = "dense: the function returns it"
		default:
			info.Why = "dense, and folded into another constant"
		}
		u.rep.Compressed = append(u.rep.Compressed, info)
	}
}
