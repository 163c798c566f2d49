package build

import (
	"slices"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/ir"
)

// flexible reads the FlexibleShapeInformation of a function: pairs of a word and a dictionary by the input's name, with
// default shapes, with ranges of dimensions, or with shapes by configuration.
func (b *builder) flexible(f *mil.Func, out *ir.Func) {
	a := mil.FindArg(f.Attrs, "FlexibleShapeInformation")
	if a == nil {
		return
	}
	top, ok := a.Value.(*mil.Tuple)
	if !ok {
		b.list.Errorf(b.argSpan(a), codeFlex, "", "%s must be a tuple of pairs", a.Name)
		return
	}
	fb := &flexBuilder{b: b, inputs: map[string]ir.Type{}, flex: &out.Flex}
	for i := range f.Params {
		fb.inputs[f.Params[i].Name] = out.Body.Params[i].Type
	}
	for _, e := range top.Elems {
		pair, ok := e.(*mil.Tuple)
		if !ok || len(pair.Elems) != 2 {
			b.list.Errorf(b.src.ValueSpan(e), codeFlex, "",
				"shape information: want a pair of a word and a dictionary")
			continue
		}
		word, okWord := mil.TextOf(pair.Elems[0])
		d, okDict := pair.Elems[1].(*mil.Dict)
		read := flexParts[word]
		switch {
		case !okWord || !okDict:
			b.list.Errorf(b.src.ValueSpan(e), codeFlex, "",
				"shape information: want a pair of a word and a dictionary")
		case read == nil:
			b.list.Warningf(b.src.ValueSpan(pair.Elems[0]), codeFlex, "",
				"ignoring unknown shape information %q", word)
		default:
			read(fb, d)
		}
	}
}

// flexParts are the words of shape information.
var flexParts = map[string]func(*flexBuilder, *mil.Dict){
	"DefaultShapes":    (*flexBuilder).defaults,
	"RangeDims":        (*flexBuilder).ranges,
	"EnumeratedShapes": (*flexBuilder).enums,
}

type flexBuilder struct {
	b      *builder
	inputs map[string]ir.Type
	flex   *ir.Flexible
}

func (f *flexBuilder) errorAt(v mil.Value, format string, args ...any) {
	f.b.list.Errorf(f.b.src.ValueSpan(v), codeFlex, "", format, args...)
}

// input returns the name of the input that an entry is about.
func (f *flexBuilder) input(e mil.Entry) (name string, t ir.Type, ok bool) {
	name, ok = mil.TextOf(e.Key)
	if !ok {
		f.errorAt(e.Key, "the key must be the name of an input")
		return name, t, false
	}
	t, ok = f.inputs[name]
	if !ok {
		f.errorAt(e.Key, "shape information names %s, which is not an input", name)
	}
	return name, t, ok
}

// shapes reads a dictionary of shapes by input.
func (f *flexBuilder) shapes(d *mil.Dict) map[string][]int64 {
	out := make(map[string][]int64, len(d.Entries))
	for _, e := range d.Entries {
		name, t, ok := f.input(e)
		if !ok {
			continue
		}
		var shape []int64
		l, isLiteral := e.Value.(*mil.Literal)
		if isLiteral {
			shape, _ = l.Ints()
		}
		switch {
		case !isLiteral || shape == nil && l.Len() > 0:
			f.errorAt(e.Value, "the shape of %s must be a list of integers", name)
			continue
		case !ir.TensorOf(t.DType, shape...).Fits(ir.TensorOf(t.DType, t.Shape...)):
			f.errorAt(e.Value, "the shape of %s is %s, but it is declared %s", name, ir.ShapeString(shape), t)
			continue
		case len(shape) > 0 && slices.Min(shape) < 0:
			f.errorAt(e.Value, "the shape of %s has a negative dimension", name)
			continue
		}
		out[name] = shape
	}
	return out
}

func (f *flexBuilder) defaults(d *mil.Dict) { f.flex.Default = f.shapes(d) }

// enums reads a dictionary of configurations, whose names have no meaning.
func (f *flexBuilder) enums(d *mil.Dict) {
	for _, e := range d.Entries {
		inner, ok := e.Value.(*mil.Dict)
		if !ok {
			f.errorAt(e.Value, "a configuration must be a dictionary of shapes by input")
			continue
		}
		f.flex.Enums = append(f.flex.Enums, f.shapes(inner))
	}
}

func (f *flexBuilder) ranges(d *mil.Dict) {
	f.flex.Ranges = make(map[string][][2]int64, len(d.Entries))
	for _, e := range d.Entries {
		name, t, ok := f.input(e)
		if !ok {
			continue
		}
		var flat []int64
		l, isLiteral := e.Value.(*mil.Literal)
		if isLiteral {
			flat, _ = l.Ints()
		}
		if len(flat) != 2*t.Rank() {
			f.errorAt(e.Value, "the ranges of %s must be %d pairs of integers, one for each dimension", name, t.Rank())
			continue
		}
		pairs := make([][2]int64, t.Rank())
		for i := range pairs {
			low, high := flat[2*i], flat[2*i+1]
			if n := t.Shape[i]; low < 0 || high >= 0 && (high < low || n > high) || n >= 0 && n < low {
				f.errorAt(e.Value, "dimension %d of %s has range %d to %d, but it is declared %s", i, name, low, high,
					t)
				ok = false
			}
			pairs[i] = [2]int64{low, max(high, -1)}
		}
		if ok {
			f.flex.Ranges[name] = pairs
		}
	}
}
