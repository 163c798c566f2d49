package verify

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// MaxRandomInt is the largest value of a random integer. Integers are mostly
// indices, lengths and tokens, of which the small ones exist everywhere.
const MaxRandomInt = 3

// unmade are the element types of which the interpreter makes no tensors.
var unmade = map[ir.DType]bool{ir.String: true, ir.FP8E4M3: true, ir.FP8E5M2: true}

// Random returns a tensor of seeded values: floats from the standard normal
// distribution, rounded to the element type; integers from 0 to MaxRandomInt (1
// for uint1), all as likely; truth values by fair coin. The values depend on
// seed, name and type alone. The shape must be static, and the tensor within
// MaxRandomBytes.
func Random(t ir.Type, name string, seed uint64) (interp.Tensor, error) {
	if t.Kind != ir.Tensor || !t.Static() {
		return interp.Tensor{}, fmt.Errorf("no random values for %s of type %s: it must be a tensor with a known shape",
			name, t)
	}
	if unmade[t.DType] {
		return interp.Tensor{}, fmt.Errorf("no random values for %s: elements of type %s cannot be made", name, t.DType)
	}
	size := t.Bytes()
	if size < 0 || size > MaxRandomBytes {
		return interp.Tensor{}, fmt.Errorf("no random values for %s of type %s: it takes more than the %d bytes that "+
			"an input may have", name, t, int64(MaxRandomBytes))
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

// MaxRandomBytes bounds one random tensor: a client maps no larger input.
const MaxRandomBytes = target.ClientBytes

// randomPiece is how many elements Random makes at a time, since what they are made
// from is larger than they; whole bytes of every element type.
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

// Budget makes random inputs that are held together, within e5.MaxBytes. The zero
// Budget is ready.
type Budget struct{ bytes int64 }

// Random is the function of that name, for one more input. It refuses one that takes
// all of them past the limit, before it makes any value.
func (b *Budget) Random(t ir.Type, name string, seed uint64) (interp.Tensor, error) {
	n := max(t.Bytes(), 0) // Random says what is wrong with a type without a size
	if b.bytes+n > e5.MaxBytes && n <= MaxRandomBytes {
		return interp.Tensor{}, fmt.Errorf("no random values for %s of type %s: its %d bytes take the random inputs "+
			"past the limit of %d bytes", name, t, n, int64(e5.MaxBytes))
	}
	x, err := Random(t, name, seed)
	if err == nil {
		b.bytes += n
	}
	return x, err
}
