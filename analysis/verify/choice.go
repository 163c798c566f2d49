package verify

import (
	"fmt"
	"maps"
	"math"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Choice is an element of a statement that chooses by numbers, such as topk or greater, with another result than in the
// reference, whose numbers are not rounded.
type Choice struct {
	Statement string `json:"statement"`      // the result with the element
	Op        string `json:"op"`             // name of the operation
	Line      int32  `json:"line,omitempty"` // line of the statement, from 1
	Element   int    `json:"element"`        // row major
	Got       Number `json:"got"`            // element of the simulator's result
	Want      Number `json:"want"`           // element of the reference's result
	// Numbers are the reference's at the indices Got and Want, if the operation orders numbers.
	Numbers []Number `json:"numbers,omitempty"`
}

// String describes the choice.
func (c *Choice) String() string {
	line := ""
	if c.Line > 0 {
		line = fmt.Sprintf(", line %d,", c.Line)
	}
	text := fmt.Sprintf("%s = %s%s chose otherwise: element %d is %g, reference %g", c.Statement, c.Op, line, c.Element,
		float64(c.Got), float64(c.Want))
	if c.Numbers != nil {
		text += fmt.Sprintf("; the reference has %.7g and %.7g there", float64(c.Numbers[0]), float64(c.Numbers[1]))
	}
	return text
}

// maxChosen bounds the elements of a result whose choices are compared, and of the numbers that it orders.
const maxChosen = 1 << 20

// jumps are the operations on numbers whose results are whole numbers of floating-point type.
var jumps = []*ir.Operation{ir.OpFloor, ir.OpCeil, ir.OpRound, ir.OpSign, ir.OpFloorDiv}

// chooses reports whether a result of an operation is chosen by numbers that are rounded.
func chooses(op *ir.Op, v *ir.Value) bool {
	if v.Type.Kind != ir.Tensor || v.Type.Elems() > maxChosen || v.Type.DType.IsFloat() && !op.Is(jumps...) {
		return false
	}
	for _, a := range free(op) {
		if a.Type.Kind == ir.Tensor && a.Type.DType.IsFloat() && !givesShape(op, a) {
			return true
		}
	}
	return false
}

// orders reports whether an operation returns the indices of numbers in their order.
func orders(op *ir.Op) bool {
	return op.Is(ir.OpTopK, ir.OpArgsort, ir.OpReduceArgmax, ir.OpReduceArgmin)
}

// chosen is what a statement of the source chose.
type chosen struct {
	t  interp.Tensor
	of *interp.Tensor // the numbers that it orders; nil if there are none, or too many
}

// note keeps what a statement of the source chose.
func (c *comparison) note(op *ir.Op, env map[string]*enclosure, out []*enclosure) {
	for i, v := range op.Results {
		if i >= len(out) || !chooses(op, v) {
			continue
		}
		c.choices[v.Name] = &chosen{t: out[i].t}
		if !orders(op) {
			continue
		}
		if s := env[op.Arg(ir.ParamX).Name]; s != nil && s.t.Elems() <= maxChosen {
			c.choices[v.Name].of = &s.t
		}
	}
}

// otherwise calls f with the elements that the machine chose otherwise, until it returns false.
func (x *call) otherwise(op *ir.Op, v *ir.Value, f func(c *Choice) bool) {
	ref, have := x.choices[v.Name], x.env[v.Name]
	if ref == nil || have == nil || ref.t.Elems() != have.t.Elems() {
		return
	}
	w := values(ref.t)
	for i, y := range values(have.t) {
		if distance(y, w[i]) < 0.5 {
			continue
		}
		c := &Choice{
			Statement: v.Name, Op: op.Def.Name, Line: op.Pos.Line, Element: i, Got: Number(y), Want: Number(w[i]),
		}
		if ref.of != nil {
			c.Numbers = ordered(op, v, *ref.of, i, int64(y), int64(w[i]))
		}
		if !f(c) {
			return
		}
	}
}

// choice returns the first choice before an output that is not the reference's, nil if there is none.
func (x *call) choice(name string) *Choice {
	var first *Choice
	for _, op := range x.sourceOf(name) { // the last statement first
		for _, v := range op.Results {
			x.otherwise(op, v, func(c *Choice) bool {
				first = c
				return false
			})
		}
	}
	return first
}

// followed returns the result of follow, once for a call.
func (x *call) followed() (map[string]*enclosure, error) {
	if !x.hasFollowed {
		var err error
		if x.following, err = x.follow(); err != nil {
			return nil, err
		}
		x.hasFollowed = true
	}
	return x.following, nil
}

// follow encloses the outputs of the source once more, with the indices that the machine chose where the reference has
// nearly the same numbers at its own. It returns nil if somewhere it has not.
func (x *call) follow() (map[string]*enclosure, error) {
	near := true
	end, err := x.enclosed(x.given, maps.Clone(x.earlier), func(op *ir.Op, _ map[string]*enclosure, out []*enclosure) {
		for i, v := range op.Results {
			if x.choices[v.Name] == nil || x.choices[v.Name].of == nil || v.Type.DType.IsFloat() {
				continue
			}
			x.otherwise(op, v, func(c *Choice) bool {
				near = near && c.Numbers != nil && math.Abs(float64(c.Numbers[0]-c.Numbers[1])) <=
					MaxPercent/100.0*largestOf(*x.choices[v.Name].of)
				return near
			})
			out[i] = &enclosure{t: x.env[v.Name].t}
		}
	}, nil)
	if !near {
		return nil, err
	}
	return end, err
}

// largestOf returns the largest finite magnitude of a tensor.
func largestOf(t interp.Tensor) float64 {
	most := 0.0
	for _, y := range t.View32() {
		if y-y == 0 {
			most = max(most, abs(y))
		}
	}
	return most
}

// ordered returns the numbers of t at some indices along the axis of an operation that orders numbers, in the row of
// element i of a result; nil if there are none.
func ordered(op *ir.Op, v *ir.Value, t interp.Tensor, i int, indices ...int64) []Number {
	shape := t.Type.Shape
	axis, err := ir.AxisAttr(op, ir.ParamAxis, len(shape))
	if err != nil {
		return nil
	}
	inner := int64(1)
	for _, d := range shape[axis+1:] {
		inner *= d
	}
	n := int64(1) // elements of the result along the axis
	if v.Type.Rank() == len(shape) {
		n = v.Type.Shape[axis]
	}
	row := int64(i) / (n * inner) * shape[axis]
	var out []Number
	for _, k := range indices {
		if k < 0 || k >= shape[axis] {
			return nil
		}
		out = append(out, Number(t.Const().Float((row+k)*inner+int64(i)%inner)))
	}
	return out
}
