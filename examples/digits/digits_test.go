package digits

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/testform"
)

const bundleDir = "digits.mlmodelc"

func checkedIn(t testing.TB) Network {
	t.Helper()
	n, err := loadNetwork(bundleDir)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// sameFiles fails unless each file is in dir, byte for byte.
func sameFiles(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, want := range files {
		have, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(have, want) {
			t.Errorf("%s/%s is not what the code writes; run go run ./examples/digits/train", dir, name)
		}
	}
}

// TestBundleIsCurrent compares the checked-in text, layout of weights and accuracies with those that the code computes
// from the checked-in numbers.
func TestBundleIsCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("the accuracy that the bundle states takes seconds to measure")
	}
	net := checkedIn(t)
	report := NewReport(net, TrainSeed)
	t.Logf("train %.4f, held out %.4f", report.Train, report.HeldOut)
	files, err := BundleFiles(net, report)
	if err != nil {
		t.Fatal(err)
	}
	sameFiles(t, bundleDir, files)
	total := 0
	for _, f := range files {
		total += len(f)
	}
	if total > 100<<10 {
		t.Errorf("the bundle is %d bytes, more than 100 KiB", total)
	}
}

func TestImagesAreCurrent(t *testing.T) {
	files, err := ImageFiles()
	if err != nil {
		t.Fatal(err)
	}
	sameFiles(t, "testdata", files)
}

// TestHeldOutAccuracy draws from seeds that nothing else uses.
func TestHeldOutAccuracy(t *testing.T) {
	net := checkedIn(t)
	for _, seed := range []uint64{1001, 1002} {
		if a := Accuracy(net, seed, testform.Of(500, 2000, 2000)); a < MinAccuracy {
			t.Errorf("seed %d: accuracy %.4f, want at least %.2f", seed, a, MinAccuracy)
		} else {
			t.Logf("seed %d: accuracy %.4f", seed, a)
		}
	}
}

// TestImagesAreRecognised reads the ten test images as a user's program would.
func TestImagesAreRecognised(t *testing.T) {
	eval := NewEvaluator(checkedIn(t))
	for digit := range Classes {
		file, err := os.ReadFile(filepath.Join("testdata", strconv.Itoa(digit)+".npy"))
		if err != nil {
			t.Fatal(err)
		}
		a, err := npy.Decode(file)
		if err != nil {
			t.Fatal(err)
		}
		values, err := a.Floats()
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Shape) != 4 || len(values) != Side*Side {
			t.Fatalf("%d.npy: shape %v", digit, a.Shape)
		}
		im := Image(values)
		if got := eval.Classify(&im); got != digit {
			t.Errorf("%d.npy is told as %d", digit, got)
		}
	}
}

// TestProbabilitiesMatchTheDefinitions compares the evaluator with the sums of each layer's definition in float64.
func TestProbabilitiesMatchTheDefinitions(t *testing.T) {
	net := checkedIn(t)
	eval := NewEvaluator(net)
	for _, s := range TestImages() {
		got, want := eval.Probabilities(&s.Image), byDefinition(net, &s.Image)
		for i := range got {
			if d := math.Abs(float64(got[i]) - want[i]); d > 1e-5 {
				t.Errorf("digit %d: probability of %d is %g, by definition %g", s.Label, i, got[i], want[i])
			}
		}
	}
}

func byDefinition(net Network, im *Image) [Classes]float64 {
	x := make([]float64, len(im))
	for i, v := range im {
		x[i] = float64(v)
	}
	for i, l := range Layers {
		side := l.outSide()
		small := side / l.Pool
		y := make([]float64, l.Out*small*small)
		for j := range y {
			y[j] = math.Inf(-1)
		}
		for co := range l.Out {
			for oy := range side {
				for ox := range side {
					sum := float64(net[i].Bias[co])
					for tap := range l.In * l.Kernel * l.Kernel {
						ci, ky, kx := tap/(l.Kernel*l.Kernel), tap/l.Kernel%l.Kernel, tap%l.Kernel
						iy, ix := oy+ky-l.Pad, ox+kx-l.Pad
						if iy >= 0 && iy < l.Side && ix >= 0 && ix < l.Side {
							sum += float64(net[i].Weight[co*l.In*l.Kernel*l.Kernel+tap]) * x[(ci*l.Side+iy)*l.Side+ix]
						}
					}
					if l.Relu {
						sum = max(sum, 0)
					}
					at := (co*small+oy/l.Pool)*small + ox/l.Pool
					y[at] = max(y[at], sum)
				}
			}
		}
		x = y
	}
	var out [Classes]float64
	sum := 0.0
	for i, v := range x {
		out[i] = math.Exp(v)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// TestGradientMatchesDifferences compares the gradient with differences of the loss. The biases keep blank paper away
// from the corner of relu, and the step is so small that the maximum of each pooling window stays in place.
func TestGradientMatchesDifferences(t *testing.T) {
	net := initialise(Stream(7, initStream))
	for _, p := range net {
		for i := range p.Bias {
			p.Bias[i] = 0.0625 + float32(i)/128
		}
	}
	s := Draw(Stream(7, drawStream), 4)
	grad := newNetwork()
	NewEvaluator(net).learn(&s, grad)

	loss := func() float64 { return -math.Log(byDefinition(net, &s.Image)[s.Label]) }
	const step = 1.0 / (1 << 20)
	for i, params := range net.tensors() {
		// A few elements of each tensor, spread over it.
		for j := 0; j < len(params); j += max(1, len(params)/7) {
			old := params[j]
			high, low := old+step, old-step
			params[j] = high
			up := loss()
			params[j] = low
			down := loss()
			params[j] = old
			want, got := (up-down)/(float64(high)-float64(low)), float64(grad.tensors()[i][j])
			if math.Abs(got-want) > 1e-4+0.005*math.Abs(want) {
				t.Errorf("tensor %d, element %d: gradient %g, difference of the loss %g", i, j, got, want)
			}
		}
	}
}

func TestExpIsAccurate(t *testing.T) {
	for x := float32(0); x > -90; x -= 0.37 {
		got, want := float64(exp(x)), math.Exp(float64(x))
		if math.Abs(got-want) > 1e-7*want+1e-44 {
			t.Errorf("exp(%g) = %g, want %g", x, got, want)
		}
	}
	if got := exp(-1000); got != 0 {
		t.Errorf("exp(-1000) = %g, want 0", got)
	}
}

func TestParseWeightsRefuses(t *testing.T) {
	good, err := os.ReadFile(filepath.Join(bundleDir, filepath.FromSlash(WeightsFile)))
	if err != nil {
		t.Fatal(err)
	}
	records, _ := blobOffsets()
	changed := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		return b
	}
	for name, file := range map[string][]byte{
		"empty":     nil,
		"cut":       good[:len(good)-1],
		"longer":    append(bytes.Clone(good), 0),
		"count":     changed(0),
		"version":   changed(4),
		"sentinel":  changed(records[1]),
		"type":      changed(records[1] + 4),
		"size":      changed(records[2] + 8),
		"offset":    changed(records[2] + 16),
		"alignment": changed(records[1] - 1),
	} {
		if _, err := parseWeights(file); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// parseWeights reads a weight file written by Weights. The error names the
// byte offset at which the file is another.
func parseWeights(file []byte) (Network, error) {
	records, size := blobOffsets()
	if len(file) != size {
		return nil, fmt.Errorf("weight file: %d bytes, want %d", len(file), size)
	}
	n := newNetwork()
	le := binary.LittleEndian
	for t, values := range n.tensors() {
		for i := range values {
			bits := le.Uint16(file[records[t]+blobAlign+2*i:])
			values[i] = float16.Frombits(bits).Float32()
		}
	}
	// All that is not a tensor's data follows from the layout, so the rest is
	// right when writing the numbers again gives the same file.
	for i, b := range Weights(n) {
		if file[i] != b {
			return nil, fmt.Errorf("weight file: byte %#x is %#02x, want %#02x", i, file[i], b)
		}
	}
	return n, nil
}

// loadNetwork reads the network of a bundle.
func loadNetwork(dir string) (Network, error) {
	path := filepath.Join(dir, filepath.FromSlash(WeightsFile))
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	n, err := parseWeights(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}
