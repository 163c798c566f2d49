package check

import (
	"context"
	"maps"
	"slices"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
)

// lengths estimates a function whose number of tokens is a range with the least and the most of them, and adds what it
// was placed as and its reports. A length that does not compile is left out.
func (o *Options) lengths(ctx context.Context, placed *[]*compile.Function, reports *[]*compile.Report) error {
	on := o.Compile
	for _, most := range []bool{false, true} {
		m, err := o.Open()
		if err != nil {
			return err
		}
		defer m.Close()
		p := m.Program
		i := slices.IndexFunc(p.Funcs, func(f *ir.Func) bool { return on.Func == "" || f.Name == on.Func })
		if i < 0 || len(p.Funcs) > 1 && on.Func == "" {
			return nil
		}
		shapes := lengthOf(p.Funcs[i], most)
		if shapes == nil {
			continue
		}
		on.Shapes, on.Progress = []map[string][]int64{shapes}, nil
		var fs []*compile.Function
		var r *compile.Report
		err = compile.Compile(ctx, p, on, compile.Sink{Placed: compile.To(&fs), Estimate: compile.To(&r)})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if r != nil && r.Estimate != nil && (err == nil || compile.Exceeds(err)) {
			*placed, *reports = append(*placed, fs...), append(*reports, r.Each()...)
		}
	}
	return nil
}

// lengthOf returns the shapes of the inputs of a function with the least or the most tokens, nil if their number is not
// a range, has no limit, or is the default: the range of the first dimension of an integer input that is one. Every
// dimension with the same range has the same number.
func lengthOf(f *ir.Func, most bool) map[string][]int64 {
	var tokens [2]int64
	for _, v := range f.Body.Params {
		if v.Type.DType.IsFloat() || tokens != [2]int64{} {
			continue
		}
		for _, r := range f.Flex.Ranges[v.Name] {
			if r[0] != r[1] && tokens == [2]int64{} {
				tokens = r
			}
		}
	}
	n := tokens[0]
	if most {
		n = tokens[1]
	}
	if n <= 0 {
		return nil
	}
	shapes := map[string][]int64{}
	for name, rs := range f.Flex.Ranges {
		shape := slices.Clone(f.Flex.Default[name])
		for i, r := range rs {
			if r == tokens && i < len(shape) {
				shape[i] = n
			}
		}
		if shape != nil {
			shapes[name] = shape
		}
	}
	if maps.EqualFunc(shapes, f.Flex.Default, slices.Equal[[]int64]) {
		return nil
	}
	return shapes
}
