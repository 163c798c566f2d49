package irbuild

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/zinc-compiler/zinc/ir"
)

// Call writes the call that text describes and returns the results. An argument is one of
//
//	fp16[2, 3]     a new input, of any element type
//	weights[2, 3]  an fp16 constant of normal numbers
//	wide[2, 3]     the same in fp32
//	positive[2, 3] an fp16 constant of numbers from 0.25 on
//	[1, -2]        a vector: fp16 where a number has a point, else int32, or bool
//	[[1, 2]]       a tensor of int32
//	1  0.5  true   a number: fp16 if it has a point, otherwise int32, or bool
//	uint32(1)      a number of another type
//	"same"         a string
//	(a, b)         values of a parameter that takes a tuple
//	relu(x = a)    the first result of another call
//
// A test case is then one line: reduce_sum(x = fp16[2, 3], axes = [1], keep_dims = true).
func (g *Graph) Call(text string) ([]*ir.Value, error) {
	p := &callParser{g: g, rest: text}
	v, err := p.value()
	if p.skip(); err == nil && p.rest != "" {
		err = fmt.Errorf("%q is left over", p.rest)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	vs, ok := v.([]*ir.Value)
	if !ok || len(vs) == 0 || vs[0].Def == nil {
		return nil, fmt.Errorf("%s: not a call", text)
	}
	return vs, nil
}

type callParser struct {
	g    *Graph
	rest string
}

func (p *callParser) skip() { p.rest = strings.TrimLeft(p.rest, " \t") }

// take reads s if it comes next.
func (p *callParser) take(s string) bool {
	p.skip()
	var ok bool
	p.rest, ok = strings.CutPrefix(p.rest, s)
	return ok
}

// word reads letters, digits and the other characters of numbers.
func (p *callParser) word() string {
	p.skip()
	n := strings.IndexFunc(p.rest, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.+-", r)
	})
	if n < 0 {
		n = len(p.rest)
	}
	w := p.rest[:n]
	p.rest = p.rest[n:]
	return w
}

// list reads values up to the closing bracket; the opening bracket has been read.
func (p *callParser) list(end string) (out []any, err error) {
	for !p.take(end) {
		if len(out) > 0 && !p.take(",") {
			return nil, fmt.Errorf("want , or %s at %q", end, p.rest)
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (p *callParser) value() (any, error) {
	switch {
	case p.take("["):
		vs, err := p.list("]")
		if err != nil {
			return nil, err
		}
		v, err := vector(vs)
		if c, ok := v.([]*ir.Value); ok && err == nil {
			return []*ir.Value{p.g.Const(c[0].Const)}, nil
		}
		return v, err
	case p.take("("):
		vs, err := p.list(")")
		var all []*ir.Value
		for _, v := range vs {
			of, no := p.g.value(v, ir.FP16, ir.Int32)
			if no != nil || len(of) == 0 {
				return nil, fmt.Errorf("%v is not a tensor", v)
			}
			all = append(all, of[0])
		}
		return all, err
	case p.take(`"`):
		s, rest, ok := strings.Cut(p.rest, `"`)
		if p.rest = rest; !ok {
			return nil, fmt.Errorf("a string has no end")
		}
		return s, nil
	}
	w := p.word()
	switch {
	case p.take("("):
		if t, ok := ir.ParseDType(w); ok {
			return p.scalar(t)
		}
		return p.call(w)
	case p.take("["):
		vs, err := p.list("]")
		if err != nil {
			return nil, err
		}
		shape := make([]int64, len(vs))
		for i, v := range vs {
			n, ok := v.(int64)
			if !ok {
				return nil, fmt.Errorf("a dimension is %v", v)
			}
			shape[i] = n
		}
		return p.tensor(w, shape)
	}
	return number(w)
}

func (p *callParser) tensor(what string, shape []int64) (any, error) {
	switch what {
	case "weights":
		return []*ir.Value{p.g.Weights(shape...)}, nil
	case "wide":
		w := p.g.Weights(shape...)
		return []*ir.Value{p.g.Filled(ir.FP32, w.Const.Float, shape...)}, nil
	case "positive":
		w := p.g.Weights(shape...)
		return []*ir.Value{p.g.Filled(ir.FP16, func(i int64) float64 { return 0.25 + math.Abs(w.Const.Float(i)) },
			shape...)}, nil
	}
	t, ok := ir.ParseDType(what)
	if !ok {
		return nil, fmt.Errorf("no element type %q", what)
	}
	return []*ir.Value{p.g.InputOf(t, shape...)}, nil
}

// scalar reads the number of a constant of a type; the opening bracket has been read.
func (p *callParser) scalar(t ir.DType) (any, error) {
	w := p.word()
	f, err := strconv.ParseFloat(w, 64)
	if err != nil || !p.take(")") {
		return nil, fmt.Errorf("want one number and ) at %q", w+p.rest)
	}
	c := &ir.Const{Type: ir.TensorOf(t), Data: ir.AppendElem(nil, t, f)}
	return []*ir.Value{p.g.Const(c)}, nil
}

func (p *callParser) call(name string) (any, error) {
	var args []any
	for !p.take(")") {
		if len(args) > 0 && !p.take(",") {
			return nil, fmt.Errorf("want , or ) at %q", p.rest)
		}
		param := p.word()
		if !p.take("=") {
			return nil, fmt.Errorf("want = after %s", param)
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		if vs, ok := v.([]*ir.Value); ok && len(vs) > 0 && vs[0].Def != nil && len(vs) == len(vs[0].Def.Results) {
			v = vs[0] // of a call the first result
		}
		args = append(args, param, v)
	}
	return p.g.Try(name, args...)
}

func number(w string) (any, error) {
	switch w {
	case "true", "false":
		return w == "true", nil
	}
	if n, err := strconv.ParseInt(w, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(w, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not a value", w)
	}
	return f, nil
}

// vector returns the values of a list as Graph.value takes them.
func vector(vs []any) (any, error) {
	var ints []int64
	var bools []bool
	var data []byte
	if len(vs) > 0 {
		switch vs[0].(type) {
		case []int64, []*ir.Value:
			return nested(vs)
		}
	}
	for _, v := range vs {
		switch v := v.(type) {
		case int64:
			ints = append(ints, v)
			data = ir.AppendElem(data, ir.FP16, float64(v))
		case float64:
			data = ir.AppendElem(data, ir.FP16, v)
		case bool:
			bools = append(bools, v)
		}
	}
	switch len(vs) {
	case len(ints):
		return ints, nil
	case len(bools):
		return bools, nil
	case len(data) / 2:
		t := ir.TensorOf(ir.FP16, int64(len(vs)))
		return []*ir.Value{{Name: "", Type: t, Const: &ir.Const{Type: t, Data: data}}}, nil
	}
	return nil, fmt.Errorf("%v is not a vector", vs)
}

// nested returns a constant whose first axis has the given parts.
func nested(vs []any) (any, error) {
	var part []int64
	var data []byte
	for i, v := range vs {
		var c *ir.Const
		switch v := v.(type) {
		case []int64:
			c = ir.ConstInts(ir.Int32, v...)
		case []*ir.Value:
			c = v[0].Const
		}
		if c == nil || c.Type.DType != ir.Int32 || i > 0 && !slices.Equal(c.Type.Shape, part) {
			return nil, fmt.Errorf("part %d of %v is not integers of one shape", i, vs)
		}
		part, data = c.Type.Shape, append(data, c.Data...)
	}
	t := ir.TensorOf(ir.Int32, append([]int64{int64(len(vs))}, part...)...)
	return []*ir.Value{{Type: t, Const: &ir.Const{Type: t, Data: data}}}, nil
}
