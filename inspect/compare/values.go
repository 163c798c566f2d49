package compare

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// constant is a constant of the source.
type constant struct {
	fn, name string
	value    *ir.Const
	place    string
	uses     []string // "epsilon of layer_norm x", the first of them
	more     int      // number of omitted uses
}

// maxUses bounds the reported uses of a constant.
const maxUses = 4

// gather lists the constants that a program's operations read, in the order of first use.
func gather(p *ir.Program) (out []*constant) {
	for _, f := range p.Funcs {
		seen := map[*ir.Value]*constant{}
		ir.Walk(f, func(op *ir.Op) {
			op.Operands(func(param *ir.Param, v *ir.Value) {
				if v == nil || !v.IsConst() {
					return
				}
				c := seen[v]
				if c == nil {
					c = &constant{fn: f.Name, name: v.Name, value: v.Const}
					if v.Pos.IsValid() {
						c.place = p.PosString(v.Pos)
					}
					seen[v] = c
					out = append(out, c)
				}
				if len(c.uses) == maxUses {
					c.more++
					return
				}
				use := string(param.Name) + " of " + op.Def.Name
				if len(op.Results) > 0 {
					use += " " + op.Results[0].Name
				}
				c.uses = append(c.uses, use)
			})
		})
	}
	return out
}

// byName returns the side's constants by qualified name.
func (s *Side) byName() map[string]*constant {
	if s.named == nil {
		s.named = map[string]*constant{}
		for _, c := range s.consts {
			s.named[qualified(c.fn, c.name)] = c
		}
	}
	return s.named
}

func (c *constant) usedAs() string {
	s := strings.Join(c.uses, ", ")
	if c.more > 0 {
		s += fmt.Sprintf(" and %d more", c.more)
	}
	return s
}

// constants compares the values with the same name on both sides, then the packed constants. A constant of only one
// side is compared as a statement.
func (p *pairing) constants() (out []*Change, err error) {
	other := p.b.byName()
	for _, x := range p.a.consts {
		y := other[qualified(x.fn, p.now(x.fn, x.name))]
		if y == nil || p.a.text != nil && p.b.text != nil && !x.value.Type.Equal(y.value.Type) {
			continue // its statement differs
		}
		if p.weights && x.value.Blob != "" && x.value.Blob == y.value.Blob && x.value.Type.Equal(y.value.Type) {
			continue
		}
		d := valueDetails(x.value, y.value)
		if len(d) == 0 {
			continue
		}
		out = append(out, &Change{
			Level: Constants, Kind: Changed, Subject: "constant " + x.name + " (" + x.usedAs() + ")", A: x.place,
			B: y.place, Details: d,
			cause: true, names: []string{qualified(x.fn, x.name), qualified(y.fn, y.name)},
		})
	}
	packed, err := p.packed()
	return append(out, packed...), err
}

// valueDetails describes how two constants differ, or returns nil if they are equal.
func valueDetails(a, b *ir.Const) []string {
	if !a.Type.Equal(b.Type) {
		return []string{"type: " + a.Type.String() + " -> " + b.Type.String()}
	}
	if a.Type.DType == ir.String {
		for i := range min(len(a.Strings), len(b.Strings)) {
			if a.Strings[i] != b.Strings[i] {
				return []string{at(a.Type.Shape, int64(i)) + strconv.Quote(brief(a.Strings[i])) + " -> " +
					strconv.Quote(brief(b.Strings[i]))}
			}
		}
		return nil
	}
	if bytes.Equal(a.Data, b.Data) {
		return nil
	}
	elems := a.Elems()
	n, first, worst := elementsThatDiffer(a, b)
	if n == 0 {
		return nil // bits outside the elements
	}
	change := func(i int64) string {
		return at(a.Type.Shape, i) + number(a, i) + " -> " + number(b, i)
	}
	if elems == 1 {
		return []string{change(0)}
	}
	out := []string{fmt.Sprintf("%d of %d values: first %s", n, elems, change(first))}
	if n > 1 {
		out = append(out, "largest change "+change(worst))
	}
	return out
}

// elementsThatDiffer counts the elements in which two constants of one type differ,
// and returns the first of them and the one that is furthest off.
func elementsThatDiffer(a, b *ir.Const) (n, first, worst int64) {
	far := -1.0
	for i := range a.Elems() {
		if sameElement(a, b, i) {
			continue
		}
		if n == 0 {
			first = i
		}
		n++
		d := math.Abs(a.Float(i) - b.Float(i))
		if math.IsNaN(d) {
			d = math.Inf(1)
		}
		if d > far {
			far, worst = d, i
		}
	}
	return n, first, worst
}

// sameElement compares the bits of an element.
func sameElement(a, b *ir.Const, i int64) bool {
	if bits := int64(a.Type.DType.Bits()); bits%8 == 0 {
		n := bits / 8
		return bytes.Equal(a.Data[i*n:(i+1)*n], b.Data[i*n:(i+1)*n])
	}
	return a.Float(i) == b.Float(i)
}

func number(c *ir.Const, i int64) string {
	switch {
	case c.Type.DType == ir.Bool:
		return strconv.FormatBool(c.Bool(i))
	case c.Type.DType.IsInt():
		return strconv.FormatInt(c.Int(i), 10)
	case c.Type.DType == ir.FP64:
		return strconv.FormatFloat(c.Float(i), 'g', -1, 64)
	}
	return strconv.FormatFloat(c.Float(i), 'g', 6, 64)
}

// at returns the index of an element, "" for a scalar.
func at(shape []int64, i int64) string {
	if len(shape) == 0 {
		return ""
	}
	index := make([]int64, len(shape))
	for k := len(shape) - 1; k >= 0; k-- {
		if shape[k] > 0 {
			index[k] = i % shape[k]
			i /= shape[k]
		}
	}
	return ir.ShapeString(index) + " "
}
