package verify

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// MaxRandomInt is the largest value of a random integer. Integers are mostly
// indices, lengths and tokens, of which the small ones exist everywhere.
const MaxRandomInt = 3

// unmade are the element types of which the interpreter makes no tensors.
var unmade = map[ir.DType]bool{ir.String: true, ir.FP8E4M3: true, ir.FP8E5M2: true}

// Random returns a tensor of seeded values: floats from the standard normal
// distribution, rounded to the element type; integers from 0 to MaxRandomInt (1
// for uint1), all as likely; truth values by fair coin. The values depend on
// seed, name and type alone. The shape must be static.
func Random(t ir.Type, name string, seed uint64) (interp.Tensor, error) {
	if t.Kind != ir.Tensor || !t.Static() {
		return interp.Tensor{}, fmt.Errorf("no random values for %s of type %s: it must be a tensor with a known shape",
			name, t)
	}
	if unmade[t.DType] {
		return interp.Tensor{}, fmt.Errorf("no random values for %s: elements of type %s cannot be made", name, t.DType)
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	r := rand.New(rand.NewPCG(seed, h.Sum64()))
	n := t.Elems()
	if t.DType.IsFloat() {
		vs := make([]float32, n)
		for i := range vs {
			vs[i] = float32(r.NormFloat64())
		}
		return interp.FromFloats(t.DType, vs, t.Shape...)
	}
	top := int64(MaxRandomInt)
	if t.DType == ir.Bool || t.DType == ir.UInt1 {
		top = 1
	}
	vs := make([]int64, n)
	for i := range vs {
		vs[i] = r.Int64N(top + 1)
	}
	return interp.FromInts(t.DType, vs, t.Shape...)
}
