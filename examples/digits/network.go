package digits

// Layer is a convolution of stride 1 with a bias, and what follows it.
type Layer struct {
	Name    string
	In, Out int  // channels
	Kernel  int  // height and width of the kernel
	Pad     int  // zeros on each of the four sides
	Side    int  // height and width of the input, without padding
	Relu    bool // max(0, x)
	Pool    int  // max pooling of this kernel and stride; 1 is none
}

// Layers is the network, first layer first. A softmax over the channels
// follows the last.
var Layers = []Layer{
	{Name: "conv1", In: 1, Out: 8, Kernel: 3, Pad: 1, Side: Side, Relu: true, Pool: 2},
	{Name: "conv2", In: 8, Out: 16, Kernel: 3, Pad: 1, Side: Side / 2, Relu: true, Pool: 2},
	{Name: "conv3", In: 16, Out: Classes, Kernel: 7, Side: Side / 4, Pool: 1},
}

// outSide is the height and width after the convolution, before pooling.
func (l Layer) outSide() int { return l.Side + 2*l.Pad - l.Kernel + 1 }

// Params are the numbers of one layer: Weight is [Out, In, Kernel, Kernel],
// Bias is [Out], both in that order.
type Params struct {
	Weight, Bias []float32
}

// Network holds the parameters of [Layers], in that order.
type Network []Params

// newNetwork returns a network of zeros.
func newNetwork() Network {
	n := make(Network, len(Layers))
	for i, l := range Layers {
		n[i] = Params{make([]float32, l.Out*l.In*l.Kernel*l.Kernel), make([]float32, l.Out)}
	}
	return n
}

// tensors returns the network's parameters as one list: weight and bias of
// each layer in turn.
func (n Network) tensors() [][]float32 {
	var out [][]float32
	for _, p := range n {
		out = append(out, p.Weight, p.Bias)
	}
	return out
}

// state is what one layer keeps of one forward pass, and its gradients.
type state struct {
	in     []float32 // [In, Side+2*Pad, Side+2*Pad], the border zero
	conv   []float32 // [Out, outSide, outSide], after relu
	pooled []float32 // [Out, outSide/Pool, outSide/Pool]
	from   []int     // for each element of pooled, the element of conv it is
	dIn    []float32 // gradient by in, the border included
}

// Evaluator runs a network on one image at a time. It is not for concurrent
// use.
type Evaluator struct {
	net    Network
	states []state
	probs  [Classes]float32
}

// NewEvaluator returns an evaluator of the network.
func NewEvaluator(n Network) *Evaluator {
	e := &Evaluator{net: n, states: make([]state, len(Layers))}
	for i, l := range Layers {
		var (
			padded = l.Side + 2*l.Pad
			conv   = l.Out * l.outSide() * l.outSide()
			pooled = conv / (l.Pool * l.Pool)
		)
		e.states[i] = state{
			in:     make([]float32, l.In*padded*padded),
			conv:   make([]float32, conv),
			pooled: make([]float32, pooled),
			from:   make([]int, pooled),
			dIn:    make([]float32, l.In*padded*padded),
		}
	}
	return e
}

// Probabilities returns the probability of each digit, in float32 arithmetic
// on the network's own numbers.
func (e *Evaluator) Probabilities(im *Image) [Classes]float32 {
	x := im[:]
	for i, l := range Layers {
		s := &e.states[i]
		l.fill(s, x)
		l.convolve(s, e.net[i])
		l.pool(s)
		x = s.pooled
	}
	softmax(e.probs[:], x)
	return e.probs
}

// Classify returns the most probable digit, the least one among equals.
func (e *Evaluator) Classify(im *Image) int {
	best, probs := 0, e.Probabilities(im)
	for i, p := range probs {
		if p > probs[best] {
			best = i
		}
	}
	return best
}

// fill copies x into the layer's padded input.
func (l Layer) fill(s *state, x []float32) {
	padded := l.Side + 2*l.Pad
	for c := range l.In {
		for y := range l.Side {
			dst := (c*padded+y+l.Pad)*padded + l.Pad
			copy(s.in[dst:dst+l.Side], x[(c*l.Side+y)*l.Side:])
		}
	}
}

// convolve computes the convolution with bias, and the relu where there is one.
func (l Layer) convolve(s *state, p Params) {
	var (
		padded = l.Side + 2*l.Pad
		side   = l.outSide()
		k      = l.Kernel
	)
	for co := range l.Out {
		for y := range side {
			row := s.conv[(co*side+y)*side:][:side]
			for x := range row {
				row[x] = p.Bias[co]
			}
			for ci := range l.In {
				for ky := range k {
					in := s.in[(ci*padded+y+ky)*padded:][:padded]
					for kx, w := range p.Weight[((co*l.In+ci)*k+ky)*k:][:k] {
						addScaled(row, in[kx:], w)
					}
				}
			}
			if l.Relu {
				for x, v := range row {
					row[x] = max(v, 0)
				}
			}
		}
	}
}

// addScaled adds w times x to dst, element by element; x is at least as long.
func addScaled(dst, x []float32, w float32) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] += float32(v * w)
	}
}

// pool takes the largest element of each square, and remembers which it was:
// the first among equals.
func (l Layer) pool(s *state) {
	side := l.outSide()
	small := side / l.Pool
	for c := range l.Out {
		for y := range small {
			for x := range small {
				best := (c*side+y*l.Pool)*side + x*l.Pool
				for i := range l.Pool * l.Pool {
					at := (c*side+y*l.Pool+i/l.Pool)*side + x*l.Pool + i%l.Pool
					if s.conv[at] > s.conv[best] {
						best = at
					}
				}
				out := (c*small+y)*small + x
				s.pooled[out], s.from[out] = s.conv[best], best
			}
		}
	}
}

// softmax writes exp(x) over its sum to dst.
func softmax(dst, x []float32) {
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	var sum float32
	for i, v := range x {
		dst[i] = exp(v - top)
		sum += dst[i]
	}
	for i := range dst {
		dst[i] /= sum
	}
}

// exp is e to the power of x for x <= 0. It is written out because math.Exp
// is assembly on some processors and may differ in the last bit. It sums the
// Taylor series of x/2^k, |x/2^k| < 1/4, to below the rounding of float64, then
// squares k times.
func exp(x float32) float32 {
	if x < -100 {
		return 0
	}
	v, squarings := float64(x), 0
	for v < -0.25 {
		v /= 2
		squarings++
	}
	sum, term := 1.0, 1.0
	for i := 1; i <= 14; i++ {
		term = float64(term * (v / float64(i)))
		sum += term
	}
	for range squarings {
		sum *= sum
	}
	return float32(sum)
}
