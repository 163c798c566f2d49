package irgen

import (
	"math"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// MaxElems is the maximum number of elements of a tensor in a generated program.
const MaxElems = 6000

// Program is a generated program.
type Program struct {
	IR    *ir.Program
	Steps string // names of the steps that wrote it, in order
	// Exact says that two correct runs return equal numbers: if Top is 0 for any inputs, otherwise if the inputs are
	// integers of magnitude at most Top.
	Exact bool
	Top   float64
}

// Limits are numbers of a target at which it changes how it computes something, or stops doing so.
type Limits struct {
	Width, Channels, Rank      int // of a tensor
	KernelW, KernelH           int // taps of a kernel, dilation included
	SmallKernelW, SmallKernelH int // taps up to which small images are computed differently
	Pool, Stride, Pad, Groups  int // of windows
	Surfaces                   int // tensors of a procedure
	Cores                      int // that outputs are spread over
	StreamPixels               int // output pixels up to which kernels are streamed
	WorkUnit                   int // elements of a row that the neural engine has in L2 at a time
	ReduceTranspose            int // extent from which reductions transpose
	KernelElems, L2Elems       int // fp16 numbers in the memory of a core's kernel, in L2
}

// maker writes a program by choices. Values stay in ranges where a comparison is meaningful: values that could grow are
// scaled, and divisors are kept away from zero. In an exact program constants are small integers, nothing is scaled,
// and an operation that could round is rejected.
type maker struct {
	*choices
	g     *irbuild.Graph
	vals  []*ir.Value // fp16 tensors so far
	exact bool
	grids map[*ir.Value]grid // of the values of an exact program that are not constants
	top   float64            // magnitude of the inputs of an exact program
	most  int64              // elements of a tensor
	float ir.DType           // of new inputs and constants of numbers
	// rough contains values whose last digits may differ between two correct runs. Operations with jumps, such as a
	// rounding or a comparison, use other values.
	rough map[*ir.Value]bool
	// stored are the values that states get, which are results like those that are returned.
	stored []*ir.Value
	// registry is a program of operations of the registry: its values are of any type.
	registry bool
	// anyType is a program of the registry whose operands are all new, of every type alike, so that rare ones are
	// reached.
	anyType bool
	limits  *Limits
}

// newMaker returns a maker of numbers in fp16.
func newMaker(c *choices, g *irbuild.Graph) *maker {
	return &maker{
		choices: c,
		g:       g,
		grids:   map[*ir.Value]grid{},
		most:    MaxElems,
		float:   ir.FP16,
		rough:   map[*ir.Value]bool{},
	}
}

// dims are extents: small ones, and multiples of 16, 32 and 64 elements with their neighbours. Extents that are listed
// twice are drawn more often.
var dims = []int64{1, 2, 3, 5, 4, 7, 8, 15, 16, 17, 31, 32, 33, 40, 48, 63, 64, 65, 96, 97, 128, 16, 32, 32, 64, 64, 96}

func (m *maker) dim() int64 { return pick(m.choices, dims...) }

func (m *maker) shape() []int64 { return m.shapeOf(1 + m.n(5)) }

// shapeOf returns a shape of the given rank with at most a quarter of MaxElems
// elements.
func (m *maker) shapeOf(rank int) []int64 {
	s := make([]int64, rank)
	n := int64(1)
	first := m.n(rank) // the later extents are often too large
	for i := range s {
		k := (first + i) % rank
		if s[k] = m.dim(); n*s[k] > MaxElems/4 {
			s[k] = 1 + int64(m.n(3))
		}
		if n*s[k] > MaxElems/4 {
			s[k] = 1
		}
		n *= s[k]
	}
	return s
}

// value picks an operand, the latest more often.
func (m *maker) value() *ir.Value {
	n := len(m.vals)
	if m.yes() {
		return m.vals[n-1]
	}
	return m.vals[m.n(n)]
}

func (m *maker) input(shape ...int64) *ir.Value {
	v := m.g.InputOf(m.float, shape...)
	m.grids[v] = grid{m.top, 1}
	return v
}

// weights adds a constant: in an exact program small integers, half of them zeros, otherwise normal numbers.
func (m *maker) weights(shape ...int64) *ir.Value {
	w := m.g.WeightsOf(m.float, shape...)
	if !m.exact {
		return w
	}
	return m.g.Filled(m.float, func(i int64) float64 {
		return math.Trunc(min(max(w.Const.Float(i)*1.5, -2), 2))
	}, shape...)
}

// weightsOf does the same for products of n terms, and keeps their magnitude.
func (m *maker) weightsOf(terms int64, shape ...int64) *ir.Value {
	w := m.weights(shape...)
	if m.exact {
		return w
	}
	s := irbuild.Scale(terms)
	return m.g.Filled(m.float, func(i int64) float64 { return w.Const.Float(i) * s }, shape...)
}

// positive adds a constant of numbers from 0.25 on.
func (m *maker) positive(shape ...int64) *ir.Value {
	w := m.g.WeightsOf(m.float, shape...)
	return m.g.Filled(m.float, func(i int64) float64 { return 0.25 + math.Abs(w.Const.Float(i)) }, shape...)
}

// fresh returns a new input or constant of a shape.
func (m *maker) fresh(shape []int64) *ir.Value {
	if m.yes() {
		return m.weights(shape...)
	}
	return m.input(shape...)
}

func (m *maker) axis(v *ir.Value) int { return m.n(v.Type.Rank()) }

// broadcastTo returns a shape that broadcasts to the shape of v.
func (m *maker) broadcastTo(v *ir.Value) []int64 {
	s := append([]int64(nil), v.Type.Shape[m.n(v.Type.Rank()):]...)
	for i := range s {
		if m.yes() {
			s[i] = 1
		}
	}
	return s
}

// scalar returns a number of few bits.
func (m *maker) scalar() float64 { return float64(m.n(9)-4) / 2 }

// partner returns an operand that broadcasts with v.
func (m *maker) partner(v *ir.Value) any {
	switch m.n(4) {
	case 0:
		return m.scalar()
	case 1:
		for i := len(m.vals) - 1; i >= 0; i-- {
			u := m.vals[i]
			s, _, ok := ir.Broadcast(v.Type.Shape, u.Type.Shape)
			if ok && ir.TensorOf(ir.FP16, s...).Elems() <= m.most && m.yes() {
				return u
			}
		}
	}
	return m.fresh(m.broadcastTo(v))
}

// unsuited ends what writes operations when the choices do not suit.
type unsuited struct{}

// giveUp ends a step, a row or a block; attempt then returns nothing of it.
func giveUp() { panic(unsuited{}) }

// attempt returns what f writes, nil if it gives up.
func attempt(f func() []*ir.Value) (vs []*ir.Value) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(unsuited); !ok {
				panic(r)
			}
		}
	}()
	return f()
}

// do adds an operation and returns its first result; it gives up if try returns nil.
func (m *maker) do(op string, args ...any) *ir.Value { return m.all(op, args...)[0] }

// all is like do but returns all results.
func (m *maker) all(op string, args ...any) []*ir.Value {
	vs := m.try(op, args...)
	if len(vs) == 0 {
		giveUp()
	}
	return vs
}

// try adds an operation. It returns nil if the op table rejects the operation or if, in an exact program, it could
// round; the graph must then not be used further.
func (m *maker) try(op string, args ...any) []*ir.Value {
	return m.tryBlocks(op, nil, args...)
}

// tryBlocks is try for an operation with nested blocks.
func (m *maker) tryBlocks(op string, blocks []*ir.Block, args ...any) []*ir.Value {
	vs, err := m.g.TryBlocks(op, blocks, args...)
	if err != nil {
		return nil
	}
	m.propagateRoughness(vs)
	if m.exact {
		g, ok := m.gridOf(vs[0].Def)
		if !ok || !g.fits() {
			return nil
		}
		for _, v := range vs {
			m.grids[v] = g
		}
	}
	return vs
}

// scaled scales sums of n terms back to the magnitude of one term.
func (m *maker) scaled(vs []*ir.Value, n int64) []*ir.Value {
	if vs == nil || m.exact {
		return vs
	}
	return m.try("mul", "x", vs[0], "y", irbuild.Scale(n))
}

// propagateRoughness records which results may differ between two correct runs: results of an operation that rounds,
// and everything computed from such results.
func (m *maker) propagateRoughness(vs []*ir.Value) {
	if len(vs) == 0 || vs[0].Def.Is(ir.OpShape, ir.OpFillLike) {
		return
	}
	op := vs[0].Def
	rough := false
	op.Reads(func(v *ir.Value) { rough = rough || m.rough[v] })
	for _, v := range vs {
		m.rough[v] = rough || v.Type.DType.IsFloat() && rounds(op)
	}
}

// rounds reports whether an operation on numbers with a fraction may round them.
func rounds(op *ir.Op) bool {
	switch op.Def.Class {
	case ir.Movement, ir.StateAccess, ir.Listing, ir.Control, ir.Filling:
		return false
	}
	return op.Def.Error != numerics.Movement || op.Is(ir.OpTopK) // whose order may differ
}

// usable returns the values that a further step may take.
func (m *maker) usable(vs []*ir.Value) []*ir.Value {
	var out []*ir.Value
	for _, v := range vs {
		n, rank := v.Type.Elems(), v.Type.Rank()
		if v.Type.DType == m.float && n > 0 && n <= m.most && rank > 0 && rank <= 5 {
			out = append(out, v)
		}
	}
	return out
}
