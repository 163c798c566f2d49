package mlmodel

import (
	"math"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/ir"
)

// value reads a Value. A nested value is written without its type, which follows from the outer value's.
func (d *decoder) value(m span, typed bool) (mil.Value, error) {
	var t *mil.Type
	var immediate, blob span
	var haveType, haveImmediate, haveBlob bool
	err := d.each(m, valueSchema, func(r *reader) error {
		switch r.name {
		case "type":
			if !r.once(&haveType) {
				return r.err
			}
			return d.in(one(r.name), r.at, func() (err error) { t, err = d.valueType(r.data); return err })
		case "immediateValue":
			immediate = r.data
			r.once(&haveImmediate)
		case "blobFileValue":
			blob = r.data
			r.once(&haveBlob)
		}
		return r.err
	})
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, d.errorf(m.at, "the value lacks a type")
	case haveBlob == haveImmediate:
		return nil, d.errorf(m.at, "want a value in the specification or in a weight file, got %s",
			map[bool]string{true: "both", false: "neither"}[haveBlob])
	case haveBlob && !typed:
		return nil, d.errorf(m.at, "only a whole value may be in a weight file, not one inside another")
	case haveBlob:
		var v *mil.BlobRef
		err = d.in(one("blobFileValue"), blob.at, func() (err error) { v, err = d.blobFile(blob); return err })
		if err != nil {
			return nil, err
		}
		v.Type = t
		return v, nil
	}
	var v mil.Value
	err = d.in(one("immediateValue"), immediate.at, func() (err error) {
		v, err = d.immediate(immediate, t, typed)
		return err
	})
	return v, err
}

// scalarType returns the type of one element. Each call returns a new node, so that every node of a program has one
// position.
func (d *decoder) scalarType(elem string) *mil.Type {
	t := &mil.Type{Kind: mil.TensorType, Elem: elem}
	if d.bare {
		t.Kind = mil.ScalarType
	}
	return t
}

// blobFile reads a BlobFileValue.
func (d *decoder) blobFile(m span) (*mil.BlobRef, error) {
	v := &mil.BlobRef{PathType: d.scalarType("string"), OffsetType: d.scalarType("uint64")}
	err := d.each(m, blobFileSchema, func(r *reader) error {
		if r.name == "fileName" {
			v.Path = r.text()
		} else {
			v.Offset = r.n
		}
		return nil
	})
	return v, err
}

// immediate reads an ImmediateValue of type t.
func (d *decoder) immediate(m span, t *mil.Type, typed bool) (mil.Value, error) {
	var v mil.Value
	front := t
	if !typed {
		front = nil
	}
	err := d.each(m, immediateSchema, func(r *reader) error {
		if v != nil {
			return r.fail("duplicate value")
		}
		return d.in(one(r.name), r.at, func() error {
			kind := immediateKinds[r.name]
			if t.Kind != kind && !(kind == mil.TensorType && t.IsScalar()) {
				return d.errorf(r.at, "the value is a %s, but its type is %s", r.name, t)
			}
			var err error
			var elems []mil.Value
			switch kind {
			case mil.TensorType:
				var l *mil.Literal
				if l, err = d.tensor(r.data, t); err == nil {
					l.Type = front
					v = l
				}
			case mil.DictType:
				dict := &mil.Dict{}
				dict.Type = front
				dict.Entries, err = d.entries(r.data)
				v = dict
			case mil.TupleType:
				elems, err = d.values(r.data)
				tuple := &mil.Tuple{Elems: elems}
				tuple.Type = front
				v = tuple
			default:
				elems, err = d.values(r.data)
				v = mil.NewList(front, elems)
			}
			return err
		})
	})
	if err == nil && v == nil {
		err = d.errorf(m.at, "the value is empty")
	}
	return v, err
}

// immediateKinds are the types of the forms of values.
var immediateKinds = map[string]mil.TypeKind{
	"tensor": mil.TensorType, "tuple": mil.TupleType, "list": mil.ListType, "dictionary": mil.DictType,
}

// values reads a ListValue or TupleValue.
func (d *decoder) values(m span) ([]mil.Value, error) {
	var vs []mil.Value
	err := d.each(m, valuesSchema, func(r *reader) error {
		return element(r, &vs, func(m span) (mil.Value, error) { return d.value(m, false) })
	})
	return vs, err
}

// entries reads a DictionaryValue.
func (d *decoder) entries(m span) ([]mil.Entry, error) {
	var es []mil.Entry
	err := d.each(m, valuesSchema, func(r *reader) error {
		return element(r, &es, func(m span) (e mil.Entry, err error) {
			err = d.each(m, pairSchema, func(r *reader) error {
				return d.in(one(r.name), r.at, func() error {
					v, err := d.value(r.data, false)
					if r.name == "key" {
						e.Key = v
					} else {
						e.Value = v
					}
					return err
				})
			})
			if err == nil && (e.Key == nil || e.Value == nil) {
				err = d.errorf(r.at, "the entry needs a key and a value")
			}
			return e, err
		})
	})
	return es, err
}

// content is the contents of a TensorValue; one of the slices is used.
type content struct {
	kind   string // field of TensorValue
	floats []float64
	ints   []int64
	texts  []string
	raw    []byte
}

// tensor reads a TensorValue of type t.
func (d *decoder) tensor(m span, t *mil.Type) (*mil.Literal, error) {
	shape, n, err := d.size(m.at, t)
	if err != nil {
		return nil, err
	}
	var c content
	given := false
	err = d.each(m, tensorSchema, func(r *reader) error {
		if !r.once(&given) {
			return r.err
		}
		c.kind = r.name
		return d.in(one(r.name), r.at, func() error { return d.content(r.data, &c) })
	})
	if err != nil {
		return nil, err
	}
	scalar := mil.Scalars[t.Elem]
	integer := scalar.Class == mil.IntClass || scalar.Class == mil.UintClass
	have := len(c.texts) + len(c.floats) + len(c.ints)
	switch {
	case !given && n == 0:
		return mil.IntLiteral(nil, shape, nil), nil // an empty tensor may omit its values
	case c.kind == "bytes" && scalar.Class != mil.StringClass:
		return d.packed(m.at, t, scalar, shape, n, c.raw)
	case int64(have) != n:
		return nil, d.errorf(m.at, "the value has %d elements, but its type %s has %d", have, t, n)
	case c.kind == "strings" && scalar.Class == mil.StringClass:
		return mil.StringLiteral(nil, shape, c.texts), nil
	case c.kind == "bools" && scalar.Class == mil.BoolClass:
		return mil.BoolLiteral(nil, shape, truths(c.ints)), nil
	case (c.kind == "floats" || c.kind == "doubles") && scalar.Class == mil.FloatClass:
		return mil.FloatLiteral(nil, shape, c.floats), nil
	case (c.kind == "ints" || c.kind == "longInts") && integer:
		return integers(scalar)(nil, shape, c.ints), nil
	}
	return nil, d.errorf(m.at, "values in field %q are not elements of %s", c.kind, t)
}

// maxLists limits the nesting of lists in a literal; with more dimensions it is one list. With brackets around every
// element, the text of a tensor with many dimensions of 1 would be a hundred times as long as its values.
const maxLists = 8

// size returns the shape of a literal of type t and the number of its elements.
func (d *decoder) size(at int64, t *mil.Type) (shape []int, n int64, err error) {
	n = 1
	empty := false
	for _, dim := range t.Dims {
		if dim.Kind != mil.FixedDim {
			return nil, 0, d.errorf(at, "a value needs a known shape, but its type is %s", t)
		}
		empty = empty || dim.Size == 0
		shape = append(shape, int(dim.Size))
	}
	if empty {
		// The dimensions around an empty one cannot be written as lists.
		return []int{0}, 0, nil
	}
	for _, dim := range t.Dims {
		if n > math.MaxInt64/dim.Size {
			return nil, 0, d.errorf(at, "%s has more elements than can be counted", t)
		}
		n *= dim.Size
	}
	if len(shape) > maxLists {
		shape = []int{int(n)}
	}
	return shape, n, nil
}

// content reads the field of a TensorValue that c names.
func (d *decoder) content(m span, c *content) error {
	sch := map[string]schema{
		"floats": floatsSchema, "doubles": doublesSchema, "ints": intsSchema, "longInts": intsSchema,
		"bools": intsSchema,
	}[c.kind]
	if sch == nil {
		sch = valuesSchema
	}
	return d.each(m, sch, func(r *reader) error {
		switch c.kind {
		case "strings":
			c.texts = append(c.texts, r.text())
			return nil
		case "bytes":
			c.raw = r.data.b
			return nil
		}
		r.numbers(func(n uint64) {
			switch c.kind {
			case "floats":
				c.floats = append(c.floats, float64(math.Float32frombits(uint32(n))))
			case "doubles":
				c.floats = append(c.floats, math.Float64frombits(n))
			default:
				c.ints = append(c.ints, int64(n))
			}
		})
		return r.err
	})
}

func truths(ns []int64) []bool {
	out := make([]bool, len(ns))
	for i, n := range ns {
		out[i] = n != 0
	}
	return out
}

// integers returns the function that builds literals of an integer type. Values of unsigned types as wide as their
// field are stored as signed ones.
func integers(s mil.Scalar) func(*mil.Type, []int, []int64) *mil.Literal {
	if s.Class != mil.UintClass || s.Bits < 32 {
		return mil.IntLiteral
	}
	return func(t *mil.Type, shape []int, ns []int64) *mil.Literal {
		out := make([]uint64, len(ns))
		for i, n := range ns {
			out[i] = uint64(n) & (math.MaxUint64 >> (64 - s.Bits))
		}
		return mil.UintLiteral(t, shape, out)
	}
}

// packed builds a literal of n elements of type t from little-endian bytes; elements of less than a byte are packed low
// bits first, or one per byte.
func (d *decoder) packed(at int64, t *mil.Type, s mil.Scalar, shape []int, n int64, raw []byte) (*mil.Literal, error) {
	elem, ok := ir.ParseDType(t.Elem)
	if !ok {
		return nil, d.errorf(at, "unknown element type %s", t.Elem)
	}
	if s.Bits < 8 && int64(len(raw)) == n && elem.Bytes(n) != n {
		if elem = ir.UInt8; s.Class == mil.IntClass {
			elem = ir.Int8
		}
	}
	c, err := ir.NewConst(ir.TensorOf(elem, n), raw)
	if err != nil {
		return nil, d.errorf(at, "the value has %d bytes, but its type %s needs %d", len(raw), t, ir.TensorOf(elem, n).
			Bytes())
	}
	switch s.Class {
	case mil.FloatClass:
		return mil.FloatLiteral(nil, shape, c.Floats()), nil
	case mil.BoolClass:
		return mil.BoolLiteral(nil, shape, truths(c.Ints())), nil
	}
	return integers(s)(nil, shape, c.Ints()), nil
}
