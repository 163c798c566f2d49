package mlmodel

import (
	"math"

	"github.com/zinc-compiler/zinc/frontend/mil"
)

// valueType reads a ValueType.
func (d *decoder) valueType(m span) (*mil.Type, error) {
	var t *mil.Type
	err := d.each(m, valueTypeSchema, func(r *reader) error {
		if t != nil {
			return r.fail("duplicate type")
		}
		return d.in(one(r.name), r.at, func() (err error) {
			t, err = d.typeOf(r)
			return err
		})
	})
	if err == nil && t == nil {
		err = d.errorf(m.at, "missing type")
	}
	return t, err
}

// typeOf reads the form of type that the current field holds.
func (d *decoder) typeOf(r *reader) (*mil.Type, error) {
	t := &mil.Type{}
	inner := func(r *reader) error {
		s := one(r.name)
		if t.Kind == mil.TupleType {
			s = nth(r.name, len(t.Args))
		}
		return d.in(s, r.at, func() error {
			a, err := d.valueType(r.data)
			t.Args = append(t.Args, a)
			return err
		})
	}
	want := 1
	var err error
	switch r.name {
	case "tensorType":
		return d.tensorType(r.data)
	case "listType":
		t.Kind = mil.ListType
		length := mil.Dim{Kind: mil.UnknownDim}
		err = d.each(r.data, listTypeSchema, func(r *reader) error {
			if r.name == "type" {
				return inner(r)
			}
			return d.in(one(r.name), r.at, func() (err error) { length, err = d.dimension(r.data); return err })
		})
		t.Dims = []mil.Dim{length}
	case "stateType":
		t.Kind = mil.StateType
		err = d.each(r.data, stateTypeSchema, inner)
	case "dictionaryType":
		t.Kind, want = mil.DictType, 2
		t.Args = make([]*mil.Type, 2)
		err = d.each(r.data, dictTypeSchema, func(r *reader) error {
			return d.in(one(r.name), r.at, func() (err error) {
				t.Args[r.num-1], err = d.valueType(r.data)
				return err
			})
		})
		if err == nil && (t.Args[0] == nil || t.Args[1] == nil) {
			err = d.errorf(r.at, "want the types of the keys and the values of a dictionary")
		}
	case "tupleType":
		t.Kind = mil.TupleType
		err = d.each(r.data, tupleTypeSchema, inner)
		want = len(t.Args)
	}
	if err == nil && len(t.Args) != want {
		err = d.errorf(r.at, "the type has %d inner types, want %d", want, len(t.Args))
	}
	return t, err
}

// tensorType reads a TensorType.
func (d *decoder) tensorType(m span) (*mil.Type, error) {
	t := &mil.Type{Kind: mil.TensorType}
	rank := int64(0)
	err := d.each(m, tensorTypeSchema, func(r *reader) error {
		switch r.name {
		case "dataType":
			if t.Elem = dataTypes[r.n]; t.Elem == "" {
				return r.fail("unknown element type %d", r.n)
			}
		case "rank":
			rank = int64(r.n)
		case "dimensions":
			if len(t.Dims) >= maxRank {
				return r.fail("the tensor has more than %d dimensions", maxRank)
			}
			return element(r, &t.Dims, d.dimension)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case t.Elem == "":
		return nil, d.errorf(m.at, "the tensor lacks an element type")
	case rank == -1 && len(t.Dims) == 0:
		t.Dims = []mil.Dim{{Kind: mil.VariadicDim}}
	case rank != int64(len(t.Dims)) && !(rank == -1 && len(t.Dims) == 1 && t.Dims[0].Kind == mil.VariadicDim):
		return nil, d.errorf(m.at, "the tensor has rank %d but %d dimensions", rank, len(t.Dims))
	case len(t.Dims) == 0:
		return d.scalarType(t.Elem), nil
	}
	return t, nil
}

// dimension reads a Dimension.
func (d *decoder) dimension(m span) (mil.Dim, error) {
	dim := mil.Dim{}
	given := false
	err := d.each(m, dimensionSchema, func(r *reader) error {
		if !r.once(&given) {
			return r.err
		}
		return d.in(one(r.name), r.at, func() error {
			if r.name == "constant" {
				return d.each(r.data, constantSchema, func(r *reader) error {
					if r.n > math.MaxInt64 {
						return r.fail("dimension %d exceeds the limit of %d", r.n, int64(math.MaxInt64))
					}
					dim.Size = int64(r.n)
					return nil
				})
			}
			dim.Kind = mil.UnknownDim
			return d.each(r.data, unknownSchema, func(r *reader) error {
				if r.n != 0 {
					dim.Kind = mil.VariadicDim
				}
				return nil
			})
		})
	})
	if err == nil && !given {
		err = d.errorf(m.at, "the dimension is neither a number nor unknown")
	}
	return dim, err
}
