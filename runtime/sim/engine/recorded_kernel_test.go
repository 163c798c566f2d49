package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/runtime/sim/engine/port"
)

// kernelCase is a recorded convolution or product with a constant matrix.
type kernelCase struct {
	name           string
	in, out        int // buffer-access registers
	matrix         bool
	groups         int
	k, stride      int
	valid          bool
	bias, relu     bool
	scale          float64
	fill           uint16   // of the recorded weights, after the 128 bytes of file header
	flat           bool     // only the fill, without the header
	counted        bool     // pattern i+1 instead, the bias counting on
	biasFill       uint16   // of a flat bias
	slices         [][2]int // first output and number of outputs of each task that has coefficients; nil: one task
	limit          int      // outputs of one core in an output group
	small          bool     // zero-skipping: least lane slots 4, otherwise 2
	cout, cin, red int
}

// pattern returns the recorded weights: the file that the compiler saw, read from its first byte, or plain values.
func (c *kernelCase) pattern(n, from, payload int, fill uint16) []uint16 {
	out := make([]uint16, n)
	for i := range out {
		out[i] = fill
		if c.counted {
			out[i] = uint16(from + i + 1)
		}
	}
	if c.flat || c.counted {
		return out
	}
	head := make([]byte, 128)
	binary.LittleEndian.PutUint32(head, 1)
	binary.LittleEndian.PutUint32(head[4:], 2)
	binary.LittleEndian.PutUint32(head[64:], 0xdeadbeef)
	binary.LittleEndian.PutUint64(head[68:], uint64(payload))
	binary.LittleEndian.PutUint64(head[76:], 128)
	for i := range min(64, n) {
		out[i] = binary.LittleEndian.Uint16(head[2*i:])
	}
	return out
}

// pad appends zeros to a multiple of 64 bytes.
func pad(b []byte) []byte { return append(b, make([]byte, -len(b)&63)...) }

func appendFP16(b []byte, h uint16) []byte { return binary.LittleEndian.AppendUint16(b, h) }

// pack writes the constant section as the notes on recorded cases describe it.
func (c *kernelCase) pack(w, bias []uint16) []byte {
	var out []byte
	slices := c.slices
	if slices == nil {
		slices = [][2]int{{0, c.cout}}
	}
	for _, s := range slices {
		for core := range 16 {
			var part []byte
			if c.groups == c.cout && c.groups > 1 {
				for ch := core; ch < c.cout; ch += 16 {
					part = c.body(part, w, bias, ch, 1)
				}
				out = append(out, pad(part)...)
				continue
			}
			per := s[1] / c.groups
			for g := range c.groups {
				part = pad(part)
				for start := 0; start < per; {
					lanes := (per - start) / 16
					if lanes > c.limit {
						lanes = c.limit
					}
					part = c.body(part, w, bias, s[0]+g*per+start+core*lanes, lanes)
					start += 16 * lanes
				}
			}
			out = append(out, pad(part)...)
		}
	}
	return out
}

// body writes the coefficients of one core's outputs first..first+lanes-1.
func (c *kernelCase) body(b []byte, w, bias []uint16, first, lanes int) []byte {
	for l := range lanes {
		if c.bias {
			b = appendFP16(b, bias[first+l])
		}
	}
	if c.stride == 1 {
		for r := range c.red {
			for l := range lanes {
				b = appendFP16(b, w[(first+l)*c.red+r])
			}
		}
		return b
	}
	slots := max(lanes, 2)
	if c.small {
		slots = max(lanes, 4)
	}
	var body, run []byte
	var mask byte
	n := 0
	half := (c.k + 1) / 2
	for ci := range c.red / (c.k * c.k) {
		for phase := range 4 {
			for cell := range half * half {
				y, x := cell/half*2+phase/2, cell%half*2+phase%2
				for l := range slots {
					if y < c.k && x < c.k && l < lanes {
						if h := w[(first+l)*c.red+(ci*c.k+y)*c.k+x]; h&0x7fff != 0 {
							mask |= 1 << (n % 8)
							run = appendFP16(run, h)
						}
					}
					if n++; n%8 == 0 {
						body = append(append(body, mask), run...)
						mask, run = 0, nil
					}
				}
			}
		}
	}
	b = append(b, byte(len(body)), byte(len(body)>>8), byte(len(body)>>16))
	return append(b, body...)
}

// want computes the result directly.
func (c *kernelCase) want(in, w, bias []float64, s, o [4]int) []float64 {
	if c.matrix {
		return c.product(in, w, bias, s[2])
	}
	out := make([]float64, o[1]*o[2]*o[3])
	before := func(in, out int) int {
		if c.valid {
			return 0
		}
		return max(0, (out-1)*c.stride+c.k-in) / 2
	}
	py, px := before(s[2], o[2]), before(s[3], o[3])
	per := o[1] / c.groups
	i := 0
	for co := range o[1] {
		for oy := range o[2] {
			for ox := range o[3] {
				acc := 0.0
				if c.bias {
					acc = bias[co]
				}
				for ci := range c.cin {
					plane := in[(co/per*c.cin+ci)*s[2]*s[3]:]
					for ky := range c.k {
						for kx := range c.k {
							y, x := oy*c.stride+ky-py, ox*c.stride+kx-px
							if y >= 0 && y < s[2] && x >= 0 && x < s[3] {
								acc += plane[y*s[3]+x] * w[((co*c.cin+ci)*c.k+ky)*c.k+kx]
							}
						}
					}
				}
				if c.relu {
					acc = math.Max(0, acc)
				}
				out[i] = acc
				i++
			}
		}
	}
	return out
}

// product is x [m, k] times the transpose of w [n, k].
func (c *kernelCase) product(x, w, bias []float64, m int) []float64 {
	out := make([]float64, m*c.cout)
	for i := range m {
		for j := range c.cout {
			acc := 0.0
			for l := range c.red {
				acc += x[i*c.red+l] * w[j*c.red+l]
			}
			if c.bias {
				acc += bias[j]
			}
			acc *= c.scale
			if c.relu {
				acc = math.Max(0, acc)
			}
			out[i*c.cout+j] = acc
		}
	}
	return out
}

var kernelCases = []kernelCase{
	{name: "conv_k1_c1024_n1024_s1_bias0", fill: 0x3800, limit: 32},
	{name: "conv_k1_c64_n64_s8_bias0_relu", fill: 0x3800, relu: true},
	{name: "conv_known_k1_c64_n256_s16_st1_g1_bias0_same", fill: 0x3801},
	{name: "conv_known_k1_c64_n64_s16_st1_g4_bias1_same", fill: 0x3801, groups: 4, bias: true},
	{name: "conv_known_k1_c64_n128_s16_st2_g4_bias0_same", fill: 0x3801, groups: 4, stride: 2, small: true},
	{name: "conv_known_k1_c64_n64_s16_st2_g1_bias1_same", fill: 0x3801, stride: 2, bias: true, small: true},
	{name: "conv_known_k3_c128_n128_s16_st2_g128_bias1_same", fill: 0x3801, groups: 128, k: 3, stride: 2, bias: true,
		small: true},
	{name: "conv_known_k3_c64_n64_s16_st1_g1_bias0_same", fill: 0x3801, k: 3},
	{name: "conv_known_k3_c64_n64_s16_st1_g64_bias0_same", fill: 0x3801, groups: 64, k: 3},
	{name: "conv_known_k3_c64_n64_s16_st2_g1_bias0_same", fill: 0x3801, k: 3, stride: 2, small: true},
	{name: "conv_probe_k1_c1024_n1024_s16_st1_g1_bias0_same", fill: 0x3800, slices: [][2]int{{512, 512}, {0, 512}}},
	{name: "conv_probe_k1_c64_n64_s1_st1_g1_bias1_same", fill: 0x3800, bias: true, limit: 32},
	{name: "conv_probe_k1_c64_n64_s8_st1_g1_bias0_same", fill: 0x3800},
	{name: "conv_probe_k3_c1024_n128_s16_st1_g1_bias0_same", fill: 0x3800, k: 3, slices: [][2]int{{96, 32}, {64, 32},
		{32, 32}, {0, 32}}},
	{name: "conv_probe_k3_c1024_n64_s16_st1_g1_bias0_same", fill: 0x3800, k: 3, slices: [][2]int{{32, 32}, {0, 32}}},
	{name: "conv_probe_k3_c64_n64_s16_st2_g1_bias0_same", fill: 0x3800, k: 3, stride: 2, small: true},
	{name: "conv_probe_k3_c64_n64_s64_st1_g1_bias0_valid", fill: 0x3800, k: 3, valid: true},
	{name: "encoder_conv_idx_c1_n256_k3x3_s2_g1_bias1_same", counted: true, k: 3, stride: 2, bias: true},
	{name: "matmul_m1_k256_n512_ty1", matrix: true, fill: 0x3800},
	{name: "matmul_m64_k256_n256_ty1", matrix: true, fill: 0x3800},
	{name: "matmul_m64_k256_n1024_ty1", matrix: true, fill: 0x3800},
	{name: "chain_base_matmul_d256_s64", matrix: true, fill: 0x3400, flat: true},
	{name: "chain_pair_mm_relu_d256_s64", matrix: true, fill: 0x3400, flat: true, relu: true},
	{name: "chain_pair_mm_mul_d256_s64", matrix: true, fill: 0x3400, flat: true, scale: 0.125},
	{name: "chain_pair_mm_bias_d256_s64", matrix: true, fill: 0x3400, flat: true, bias: true, biasFill: 0x3401},
}

// Each recorded case with a kernel runs from its recorded words: first the
// constant section is shown to be the recorded one by its hash, for the
// recorded weights, then the same packing carries random weights (the recorded ones in
// zero-skipping form) and the result is compared with the convolution or product itself.
func TestRecordedKernels(t *testing.T) {
	for i := range testform.Sample(len(kernelCases), 8, len(kernelCases)) {
		c := kernelCases[i]
		t.Run(c.name, func(t *testing.T) {
			r, tasks := readRecorded(t, c.name)
			c.groups, c.k, c.stride, c.limit = max(1, c.groups), max(1, c.k), max(1, c.stride), max(16, c.limit)
			if c.scale == 0 {
				c.scale = 1
			}
			if c.biasFill == 0 {
				c.biasFill = c.fill
			}
			c.in, c.out = 4, 5
			if c.matrix {
				c.in, c.out = 5, 4
			}
			mem := buffers{3: make([]byte, 1<<20)}
			var in, out *surface
			for _, d := range r.Tensors {
				s := newSurface(d.Shape[0], d.Shape[1], d.Shape[2], d.Shape[3])
				if d.Binding == 2 {
					out = s
					mem[c.out] = s.buf
				} else {
					in = s
					mem[c.in] = s.buf
				}
			}
			c.cin, c.cout = in.shape[1]/c.groups, out.shape[1]
			c.red = c.cin * c.k * c.k
			if c.matrix {
				c.red, c.cout = in.shape[3], out.shape[3]
			}
			n := c.cout * c.red
			section := c.pack(c.pattern(n, 0, 2*n, c.fill), c.pattern(c.cout, n, 2*n, c.biasFill))
			section = append(section, make([]byte, max(0, r.Constant.Size-len(section)))...)
			if sum := sha256.Sum256(section); hex.EncodeToString(sum[:]) != r.Constant.SHA256 {
				t.Errorf("packed section of %d bytes is not the recorded one of %d", len(section), r.Constant.Size)
			}

			w, bias := random(1, n, 0.5), random(2, c.cout, 2)
			if c.stride == 2 {
				// The parts' sizes depend on the values: other weights would not fit the recorded layout.
				w, bias = c.pattern(n, 0, 2*n, c.fill), c.pattern(c.cout, n, 2*n, c.biasFill)
			}
			mem[1] = append(c.pack(w, bias), make([]byte, r.Constant.Size)...)[:r.Constant.Size]
			in.set(random(3, in.shape[0]*in.shape[1]*in.shape[2]*in.shape[3], 1))
			if err := New(Options{L2Bytes: l2Bytes, Numerics: IEEE}).Run(context.Background(), tasks, mem); err != nil {
				t.Fatal(err)
			}
			near(t, c.name, out.values(), c.want(in.values(), values(w), values(bias), in.shape, out.shape), 0.6, 2e-3)
		})
	}
}

// Chains of two products: the second uses the layout that the first left in L2; one has a table fused into the first.
func TestRecordedChains(t *testing.T) {
	for _, c := range []struct {
		name   string
		m      int
		hidden int
		gelu   bool
		slack  float64
	}{
		{name: "chain_pair_mm_mm_d256_s64", m: 64, hidden: 256, gelu: false, slack: 2e-3},
		// Each hidden value may be off by the table's 0.0059, alike in sign
		// over a region: the sum over 1024 weights below 0.05 stays within 0.2.
		{name: "chain_ffn_d256_s128", m: 128, hidden: 1024, gelu: true, slack: 0.2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, tasks := readRecorded(t, c.name)
			first := kernelCase{
				groups: 1,
				k:      1,
				stride: 1,
				limit:  16,
				cout:   c.hidden,
				red:    256,
				scale:  1,
				matrix: true,
				flat:   true,
			}
			second := first
			second.cout, second.red = 256, c.hidden
			section := func(w1, w2 []uint16) []byte {
				b := first.pack(w1, nil)
				if c.gelu {
					var lanes []byte
					for i := range 16 {
						n := len(b) / 16
						lanes = append(append(lanes, halves(geluTable...)...), b[i*n:(i+1)*n]...)
					}
					b = lanes
				}
				return append(b, second.pack(w2, nil)...)
			}
			n := 256 * c.hidden
			sum := sha256.Sum256(section(first.pattern(n, 0, 0, 0x3400), second.pattern(n, 0, 0, 0x3401)))
			if hex.EncodeToString(sum[:]) != r.Constant.SHA256 {
				t.Error("packed section is not the recorded one")
			}
			w1, w2 := random(1, n, 0.05), random(2, n, 0.05)
			in, out := newSurface(1, 1, c.m, 256), newSurface(1, 1, c.m, 256)
			in.set(random(3, c.m*256, 1))
			mem := buffers{1: section(w1, w2), 3: make([]byte, 1<<20), 4: out.buf, 5: in.buf}
			if err := New(Options{L2Bytes: l2Bytes}).Run(context.Background(), tasks, mem); err != nil {
				t.Fatal(err)
			}
			hidden := first.product(in.values(), values(w1), nil, c.m)
			for i, v := range hidden {
				if c.gelu {
					v = gelu(v)
				}
				hidden[i] = float64(port.Widen(port.Narrow(float32(v))))
			}
			near(t, c.name, out.values(), second.product(hidden, values(w2), nil, c.m), 1, c.slack)
		})
	}
}
