package compile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// CompressedInfo says what became of a constant that the model stores in compressed form.
type CompressedInfo struct {
	Name     string `json:"name"`              // name of the constant
	Line     int32  `json:"line,omitempty"`    // line of the statement, from 1
	Form     string `json:"form"`              // how the model stores it
	Stored   int64  `json:"stored_bytes"`      // in the model: values, tables, masks, scales
	Streamed int64  `json:"streamed_bytes"`    // sent to the engine, 0 when the engine does not read it
	Streams  bool   `json:"streams,omitempty"` // the engine reads it compressed
	// CouldStream says that the target's hardware accepts the form as it is stored.
	CouldStream bool   `json:"could_stream"`
	Why         string `json:"why"` // why the engine reads it in this form
}

// coefficientBytes is the size of a dense coefficient.
const coefficientBytes = 2

// compressed fills in the report's compressed constants.
func (u *unit) compressed() {
	readers := map[*ir.Value][]*ir.Op{}
	for _, st := range u.state.Partitions {
		for _, op := range st.Ops {
			op.Reads(func(v *ir.Value) { readers[v] = append(readers[v], op) })
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
			CouldStream: c.Stream != "" && could(t, c),
		}
		used, returned, dense, form := false, false, "", ""
		for _, v := range c.Values {
			bytes, why := int64(0), ""
			for _, op := range readers[v] {
				used = true
				if op.Place.Unit == ir.Engine && bytes == 0 {
					var s lower.Stream
					s, why = lower.Packed(t, op, v)
					form = cmp.Or(form, s.Form)
					bytes = cmp.Or(s.Bytes, max(v.Type.Elems(), 0)*coefficientBytes)
				}
			}
			info.Streamed += bytes
			dense = cmp.Or(dense, why)
			returned = returned || result[v]
		}
		switch {
		case form != "":
			info.Streams, info.CouldStream = true, true
			info.Why = "streamed as " + lower.Layouts[form] + ", in an order that is modelled"
		case info.Streamed > 0 && !info.CouldStream:
			info.Why = "dense: " + folds(t, c)
		case info.Streamed > 0:
			info.Why = "dense: " + cmp.Or(dense, folds(t, c))
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

// could reports whether the hardware of a target streams a constant.
func could(t *target.Table, c *passes.Compressed) bool {
	return t.Streams(c.Stream) && c.Tables <= int64(t.Palettes)
}

// folds says why the engine of a target reads a constant as fp16 numbers.
func folds(t *target.Table, c *passes.Compressed) string {
	form := c.Stream
	switch {
	case form == "":
		return "the engine reads fp16 numbers"
	case !could(t, c):
		most := slices.MaxFunc(target.All, func(a, b *target.Table) int { return a.Palettes - b.Palettes })
		if c.Tables > int64(most.Palettes) {
			return fmt.Sprintf("%d codebooks fold on every target; %s streams at most %d", c.Tables, chips(most),
				most.Palettes)
		}
		i := slices.IndexFunc(target.All, func(t *target.Table) bool { return could(t, c) })
		if i < 0 {
			return fmt.Sprintf("%s folds on every target", form)
		}
		return fmt.Sprintf("%s folds on %s; it streams from %s on", form, chips(t), chips(target.All[i]))
	case lower.Writes(form):
		return "passes computed other values from it"
	}
	return fmt.Sprintf("%s could stream %s, zinc writes dense fp16 coefficients only", t.Name, form)
}

// chips returns the name of a target with the name of the first computer's chip that runs its programs.
func chips(t *target.Table) string {
	i := slices.IndexFunc(target.Chips, func(c target.Chip) bool { return c.Target == t.Name && c.Name[0] == 'M' })
	if i < 0 {
		return t.Name
	}
	return fmt.Sprintf("%s (%s)", t.Name, target.Chips[i].Name)
}
