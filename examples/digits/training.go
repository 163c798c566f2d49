package digits

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
)

// The seeds of what is checked in. The streams are apart from each other, so
// no image of one is an image of another.
const (
	TrainSeed   = 1 // drawings the network is fitted on
	HeldOutSeed = 2 // drawings the stated accuracy is measured on
	ImageSeed   = 3 // the ten test images
)

// Names of the streams under one seed.
const (
	drawStream = iota
	initStream
)

// MinAccuracy is the least share of held-out digits that the checked-in
// network names rightly, whatever the seed they are drawn from.
const MinAccuracy = 0.99

// How the network is fitted: Adam with these constants, the rate falling
// linearly to zero.
const (
	batches      = 1000
	batchSize    = 32
	learningRate = 0.004
	meanDecay    = 0.9
	squareDecay  = 0.99
	epsilon      = 1e-6
)

// Train fits a network on batches*batchSize fresh drawings from the seed and
// returns it rounded to fp16. It writes its progress to log: the share named
// rightly of the drawings since the last line, each counted before the network
// learnt from it.
func Train(seed uint64, log io.Writer) (Network, error) {
	var (
		net   = initialise(Stream(seed, initStream))
		draws = Stream(seed, drawStream)
		eval  = NewEvaluator(net)
		grad  = newNetwork()
		adam  = newAdam()
		right int
	)
	const report = batches / 5
	for b := range batches {
		for _, t := range grad.tensors() {
			clear(t)
		}
		for i := range batchSize {
			s := Draw(draws, (b*batchSize+i)%Classes)
			if eval.learn(&s, grad) {
				right++
			}
		}
		rate := float32(learningRate) * float32(batches-b) / batches
		adam.step(net, grad, rate)
		if (b+1)%report == 0 {
			const seen = report * batchSize
			if _, err := fmt.Fprintf(log, "after %6d digits: %6.2f %% of the last %d right\n", (b+1)*batchSize,
				100*float64(right)/seen, seen); err != nil {
				return nil, err
			}
			right = 0
		}
	}
	return net.rounded(), nil
}

// Accuracy returns the share of n digits drawn from the seed that the network
// names rightly.
func Accuracy(net Network, seed uint64, n int) float64 {
	eval, draws, right := NewEvaluator(net), Stream(seed, drawStream), 0
	for i := range n {
		s := Draw(draws, i%Classes)
		if eval.Classify(&s.Image) == s.Label {
			right++
		}
	}
	return float64(right) / float64(n)
}

// TestImages draws the ten checked-in images: image i shows digit i.
func TestImages() []Sample {
	draws := Stream(ImageSeed, drawStream)
	out := make([]Sample, Classes)
	for i := range out {
		out[i] = Draw(draws, i)
	}
	return out
}

// initialise returns a network whose biases are zero and whose weights are
// even in +-sqrt(6/fan-in), the range that keeps the spread through a relu.
func initialise(r *rand.Rand) Network {
	n := newNetwork()
	for i, l := range Layers {
		bound := math.Sqrt(6 / float64(l.In*l.Kernel*l.Kernel))
		for j := range n[i].Weight {
			n[i].Weight[j] = float32(between(r, -bound, bound))
		}
	}
	return n
}

// learn adds the gradient of the sample's cross-entropy to grad and reports
// whether the network named the digit rightly.
func (e *Evaluator) learn(s *Sample, grad Network) bool {
	right := e.Classify(&s.Image) == s.Label
	d := e.probs // gradient by the input of the softmax: p - [i is the label]
	d[s.Label]--
	out := d[:]
	for i := len(Layers) - 1; i >= 0; i-- {
		l, st := Layers[i], &e.states[i]
		l.backward(st, e.net[i], grad[i], out, i > 0)
		if i > 0 {
			out = l.unpadded(st)
		}
	}
	return right
}

// backward adds the gradients by the layer's parameters to grad, given the
// gradient by its pooled output, and leaves the gradient by its input in dIn
// when that is wanted. Only the elements that won their pooling square and
// passed the relu carry a gradient.
func (l Layer) backward(s *state, p, grad Params, dOut []float32, wantInput bool) {
	var (
		padded = l.Side + 2*l.Pad
		side   = l.outSide()
		k      = l.Kernel
	)
	clear(s.dIn)
	for i, g := range dOut {
		at := s.from[i]
		if g == 0 || l.Relu && s.conv[at] == 0 {
			continue
		}
		co, y, x := at/(side*side), at/side%side, at%side
		grad.Bias[co] += g
		for ci := range l.In {
			for ky := range k {
				row := (ci*padded+y+ky)*padded + x
				w := ((co*l.In+ci)*k + ky) * k
				addScaled(grad.Weight[w:w+k], s.in[row:], g)
				if wantInput {
					addScaled(s.dIn[row:row+k], p.Weight[w:], g)
				}
			}
		}
	}
}

// unpadded returns dIn without the border, in place.
func (l Layer) unpadded(s *state) []float32 {
	padded := l.Side + 2*l.Pad
	for c := range l.In {
		for y := range l.Side {
			src := (c*padded+y+l.Pad)*padded + l.Pad
			copy(s.dIn[(c*l.Side+y)*l.Side:], s.dIn[src:src+l.Side])
		}
	}
	return s.dIn[:l.In*l.Side*l.Side]
}

// adam keeps the running means that scale each parameter's step.
type adam struct {
	mean, square             [][]float32
	meanWeight, squareWeight float32 // decay to the power of the steps taken
}

func newAdam() *adam {
	return &adam{mean: newNetwork().tensors(), square: newNetwork().tensors(), meanWeight: 1, squareWeight: 1}
}

// step moves the network against the gradient, summed over one batch.
func (a *adam) step(net, grad Network, rate float32) {
	a.meanWeight *= meanDecay
	a.squareWeight *= squareDecay
	gs := grad.tensors()
	for t, params := range net.tensors() {
		mean, square := a.mean[t], a.square[t]
		for i, g := range gs[t] {
			g /= batchSize
			mean[i] = float32(meanDecay*mean[i]) + float32((1-meanDecay)*g)
			square[i] = float32(squareDecay*square[i]) + float32((1-squareDecay)*float32(g*g))
			root := float32(math.Sqrt(float64(square[i] / (1 - a.squareWeight))))
			params[i] -= float32(rate*(mean[i]/(1-a.meanWeight))) / (root + epsilon)
		}
	}
}
