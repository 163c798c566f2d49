package verify

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// MaxRandomInt is the largest value of a random integer. Integers are mostly
// indices, lengths and tokens, where small values are valid in every model.
const MaxRandomInt = 3

// unmade are the element types that tensors of the interpreter cannot have.
var unmade = map[ir.DType]bool{ir.String: true, ir.FP8E4M3: true, ir.FP8E5M2: true}

// Random returns a tensor of seeded values: floats from the standard normal
// distribution, rounded to the element type; integers uniform in 0 to MaxRandomInt (1
// for uint1); booleans uniform. The values depend only on seed, name and type. The
// shape must be static, and the tensor at most MaxRandomBytes long.
func Random(t ir.Type, name string, seed uint64) (interp.Tensor, error) {
	if t.Kind != ir.Tensor || !t.Static() {
		return interp.Tensor{}, fmt.Errorf("cannot generate random values for %s of type %s: want a tensor with a "+
			"known shape", name, t)
	}
	if unmade[t.DType] {
		return interp.Tensor{}, fmt.Errorf("cannot generate random values for %s: element type %s is not supported",
			name, t.DType)
	}
	size := t.Bytes()
	if size < 0 || size > MaxRandomBytes {
		return interp.Tensor{}, fmt.Errorf("cannot generate random values for %s of type %s: it exceeds the limit of "+
			"%d bytes for an input", name, t, int64(MaxRandomBytes))
	}
	if err := memlimit.Room(size); err != nil {
		return interp.Tensor{}, fmt.Errorf("cannot generate random values for %s of type %s: %w", name, t, err)
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	r := rand.New(rand.NewPCG(seed, h.Sum64()))
	data := make([]byte, 0, size)
	for left := t.Elems(); left > 0; {
		n := min(left, randomPiece)
		left -= n
		x, err := randomValues(r, t.DType, n)
		if err != nil {
			return interp.Tensor{}, err
		}
		data = append(data, x.Data...)
	}
	return interp.NewTensor(t, data)
}

// MaxRandomBytes is the limit of one random tensor: a client cannot map a larger input.
const MaxRandomBytes = target.ClientBytes

// randomPiece is the number of elements that Random generates at a time, because they
// are larger before they are converted. It fills whole bytes in every element type.
const randomPiece = 1 << 16

// randomValues returns the next n values.
func randomValues(r *rand.Rand, d ir.DType, n int64) (interp.Tensor, error) {
	if d.IsFloat() {
		vs := make([]float32, n)
		for i := range vs {
			vs[i] = float32(r.NormFloat64())
		}
		return interp.FromFloats(d, vs, n)
	}
	top := int64(MaxRandomInt)
	if d == ir.Bool || d == ir.UInt1 {
		top = 1
	}
	vs := make([]int64, n)
	for i := range vs {
		vs[i] = r.Int64N(top + 1)
	}
	return interp.FromInts(d, vs, n)
}

// Budget generates random inputs that are in memory at the same time and limits their
// total size to e5.MaxBytes and to the memory of the process (package memlimit). The zero Budget is ready to use.
type Budget struct{ bytes int64 }

// Random calls the function Random for one more input. It returns an error, before it
// generates any value, if the total would exceed the limit.
func (b *Budget) Random(t ir.Type, name string, seed uint64) (interp.Tensor, error) {
	n := max(t.Bytes(), 0) // the function Random reports a type without a size
	most := min(e5.MaxBytes, memlimit.Bytes())
	if b.bytes+n > most && n <= MaxRandomBytes {
		return interp.Tensor{}, fmt.Errorf("cannot generate random values for %s of type %s: with its %d bytes the "+
			"random inputs exceed the limit of %d bytes", name, t, n, most)
	}
	x, err := Random(t, name, seed)
	if err == nil {
		b.bytes += n
	}
	return x, err
}
