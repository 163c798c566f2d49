package passes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// resolveShapes sets the shapes of flexible inputs, requested or default, and infers what follows from them. Operations
// whose dimensions stay unknown run on the CPU.
func resolveShapes(s *State) error {
	if err := checkShapes(s.Func, s.Shapes); err != nil {
		return err
	}
	was := map[*ir.Value]ir.Type{} // types to restore
	set := func(v *ir.Value, t ir.Type) {
		if _, ok := was[v]; !ok {
			was[v] = v.Type
		}
		v.Type = t
	}
	for _, p := range s.Func.Body.Params {
		d, ok := s.Shapes[p.Name]
		if !ok {
			d, ok = s.Func.Flex.Default[p.Name]
		}
		if ok && len(d) == p.Type.Rank() && !slices.Equal(d, p.Type.Shape) {
			set(p, p.Type.WithShape(d...))
		}
	}
	if len(was) == 0 {
		return nil
	}
	err := s.inferBlock(s.Func.Body, set)
	if err == nil {
		return nil
	}
	if len(s.Shapes) > 0 {
		return fmt.Errorf("under the given shapes: %w", err)
	}
	// Some models cannot run with their own default shapes. Their shapes stay as declared, even if unknown.
	for v, t := range was {
		v.Type = t
	}
	return nil
}

// inferBlock infers the results of a block's operations, and of the branches of conditions in it, from the current
// types of the operands.
func (s *State) inferBlock(b *ir.Block, set func(v *ir.Value, t ir.Type)) error {
	for _, op := range b.Ops {
		if op.Is(ir.OpCond) {
			for _, inner := range op.Blocks {
				if err := s.inferBlock(inner, set); err != nil {
					return err
				}
			}
		}
		ts, err := ir.InferOp(op)
		if err != nil {
			return fmt.Errorf("%s: %w", s.label(op), err)
		}
		for i, t := range ts {
			v := op.Results[i]
			if v.Type.Kind != ir.Tensor {
				continue
			}
			if !t.Fits(v.Type) { // such as a squeeze of a dimension that is 1 only by default
				return fmt.Errorf("%s: %s is declared %s, but the operation returns %s", s.label(op), v.Name, v.Type, t)
			}
			// The text may state a dimension that does not follow from the operands.
			set(v, meet(t, v.Type))
		}
	}
	return nil
}

// checkShapes checks the requested shapes against the declared types, ranges and enumerated sets.
func checkShapes(f *ir.Func, shapes map[string][]int64) error {
	names := slices.Sorted(maps.Keys(shapes))
	for _, n := range names {
		if err := checkShape(f, n, shapes[n]); err != nil {
			return err
		}
	}
	if len(f.Flex.Enums) == 0 || len(names) == 0 {
		return nil
	}
	var sets []string
	for _, e := range f.Flex.Enums {
		fits := true
		var parts []string
		for _, p := range f.Body.Params {
			want, ok := e[p.Name]
			if !ok {
				continue
			}
			parts = append(parts, p.Name+" "+ir.ShapeString(want))
			got, ok := shapes[p.Name]
			if !ok {
				got = f.Flex.Default[p.Name]
			}
			fits = fits && slices.Equal(got, want)
		}
		if fits {
			return nil
		}
		sets = append(sets, strings.Join(parts, " with "))
	}
	return fmt.Errorf("shapes of %s are not a configuration of function %s; those are: %s", strings.Join(names, ", "),
		f.Name, strings.Join(sets, "; "))
}

func checkShape(f *ir.Func, name string, shape []int64) error {
	i := slices.IndexFunc(f.Body.Params, func(p *ir.Value) bool { return p.Name == name })
	if i < 0 {
		var have []string
		for _, p := range f.Body.Params {
			have = append(have, p.Name)
		}
		return fmt.Errorf("shape of %s: function %s has no such input; inputs: %s", name, f.Name,
			strings.Join(have, ", "))
	}
	t := f.Body.Params[i].Type
	if t.Kind != ir.Tensor {
		return fmt.Errorf("shape of %s: the input is %s, whose shape is fixed", name, t)
	}
	if len(shape) != t.Rank() {
		return fmt.Errorf("shape of %s: %s has %d dimensions, the input is %s", name, ir.ShapeString(shape), len(shape),
			t)
	}
	ranges := f.Flex.Ranges[name]
	for k, n := range shape {
		low, high := int64(0), int64(-1)
		if t.Shape[k] >= 0 {
			low, high = t.Shape[k], t.Shape[k]
		}
		if k < len(ranges) {
			low, high = ranges[k][0], ranges[k][1]
		}
		switch {
		case n >= low && (high < 0 || n <= high):
		case low == high:
			return fmt.Errorf("shape of %s: dimension %d is %d and must be %d", name, k, n, low)
		case high < 0:
			return fmt.Errorf("shape of %s: dimension %d is %d and must be at least %d", name, k, n, low)
		default:
			return fmt.Errorf("shape of %s: dimension %d is %d, outside its range %d to %d", name, k, n, low, high)
		}
	}
	if e := (ir.TensorOf(t.DType, shape...)).Bytes(); e < 0 {
		return fmt.Errorf("shape of %s: %s has more elements than can be counted", name, ir.ShapeString(shape))
	}
	return nil
}
