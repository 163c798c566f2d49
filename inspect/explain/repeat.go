package explain

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// Models with at least so many operations and so many equal layers one after another are searched on one layer first.
const (
	leastOps    = 400
	leastLayers = 8
)

// longestLayer bounds the length of a layer, and so the search's time for each operation. Layers of published decoders
// have about a hundred operations.
const longestLayer = 1000

// withOneLayer returns a copy of a program whose equal layers are one, and their number; nil if a function has few of
// them or functions differ in their number. Layers are equal up to the values of large constants.
func withOneLayer(p *ir.Program) (*ir.Program, int) {
	var repeats []repeat
	for _, f := range p.Funcs {
		if len(f.Body.Ops) < leastOps || len(f.Flex.Enums) > 0 {
			return nil, 0
		}
		r := repeatOf(f.Body.Ops)
		if r.count < leastLayers || len(repeats) > 0 && r.count != repeats[0].count {
			return nil, 0
		}
		repeats = append(repeats, r)
	}
	short := ir.CloneProgram(p)
	for i, r := range repeats {
		r.cut(short.Funcs[i])
	}
	if len(repeats) == 0 || ir.Verify(short) != nil {
		return nil, 0
	}
	return short, repeats[0].count
}

// repeat is a run of equal layers: count of them, each of length operations, from begin on.
type repeat struct{ begin, length, count int }

// repeatOf finds the longest run of equal layers, with the shortest layers.
func repeatOf(ops []*ir.Op) (best repeat) {
	n := len(ops)
	kinds := make([]uint64, n)
	for i, op := range ops {
		kinds[i] = kindOf(op)
	}
	covered := 0
	for length := 1; length <= min(n/leastLayers, longestLayer); length++ {
		for i := 0; i+length < n; i++ {
			begin := i
			for i+length < n && kinds[i] == kinds[i+length] {
				i++
			}
			if count := (i-begin)/length + 1; count >= leastLayers && count*length > covered {
				best, covered = repeat{begin, length, count}, count*length
			}
		}
	}
	return best
}

// kindOf is equal for operations that differ in what they read and in large constants only.
func kindOf(op *ir.Op) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", op.Def.Name, len(op.Blocks))
	op.Operands(func(p *ir.Param, v *ir.Value) {
		fmt.Fprintf(h, " %s %s", p.Name, v.Type)
		if v.Const != nil && len(v.Const.Data) <= small {
			fmt.Fprintf(h, " %x %q", v.Const.Data, v.Const.Strings)
		}
	})
	for _, v := range op.Results {
		fmt.Fprintf(h, " %s", v.Type)
	}
	return h.Sum64()
}

// cut removes all layers but the first. What is read of another one is read of the first instead, and states that
// nothing touches any more are removed.
func (r repeat) cut(f *ir.Func) {
	ops := f.Body.Ops
	first := map[*ir.Value]*ir.Value{}
	begin, end := r.begin+r.length, r.begin+r.length*r.count
	for i := begin; i < end; i++ {
		for k, v := range ops[i].Results {
			first[v] = ops[r.begin+(i-r.begin)%r.length].Results[k]
		}
	}
	f.Body.Ops = slices.Concat(ops[:begin], ops[end:])
	used := map[*ir.Value]bool{}
	ir.Walk(f, func(op *ir.Op) {
		for _, args := range op.Args {
			for k, v := range args {
				if w := first[v]; w != nil {
					args[k] = w
				}
				used[args[k]] = true
			}
		}
	})
	var outs []*ir.Value
	for _, v := range f.Body.Outputs {
		if w := first[v]; w != nil {
			v = w
		}
		if !slices.Contains(outs, v) {
			outs = append(outs, v)
		}
	}
	f.Body.Outputs = outs
	f.Body.Params = slices.DeleteFunc(f.Body.Params, func(v *ir.Value) bool {
		return v.Type.Kind == ir.State && !used[v]
	})
}
