package weights

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// recorded is what the tests use of a recorded case.
type recorded struct {
	Case       string
	Parameters struct {
		Groups      int
		Kernel      int
		Stride      int
		Spatial     int
		Bias        any
		Input       []int `json:"input_shape"`
		Output      []int `json:"output_shape"`
		Rows        int
		Sequence    int
		PadType     string `json:"pad_type"`
		Operation   string
		Operations  []string
		Constant    string
		Activation  string
		Transpose   bool   `json:"transpose_y"`
		Pair        string `json:"pair"`
		WeightMode  string `json:"weight_mode"`
		Width       int
		OutputWidth int
	}
	Weights struct {
		Storage string
		Value   string
		Pattern string
		Mask    uint16 `json:"xor_mask"`
		Payload uint64 `json:"payload_bytes"`
		Shape   []int
		Shapes  [][]int
	}
	Constants struct {
		Size   int
		SHA256 string
	} `json:"constant_section"`
	Tasks []struct {
		Records []struct {
			Addr  string
			Words []string
		}
	}
}

func readCase(t testing.TB, name string) *recorded {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(shareddir.Find(t), "oracles", "h13", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	c := new(recorded)
	if err := json.Unmarshal(b, c); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

func (c *recorded) shapes() [][]int {
	if c.Weights.Shapes != nil {
		return c.Weights.Shapes
	}
	return [][]int{c.Weights.Shape}
}

func product(xs []int) int {
	n := 1
	for _, x := range xs {
		n *= x
	}
	return n
}

// tensors builds the constants as the compiler saw them. The fill files were
// read from their byte 0, so the first 64 values are the file's own header.
func (c *recorded) tensors(t testing.TB) [][]uint16 {
	t.Helper()
	head := make([]byte, 128)
	le := binary.LittleEndian
	le.PutUint32(head, 1)
	le.PutUint32(head[4:], 2)
	le.PutUint32(head[64:], 0xDEADBEEF)
	le.PutUint64(head[68:], c.Weights.Payload)
	le.PutUint64(head[76:], 128)
	var out [][]uint16
	index := 0
	for k, shape := range c.shapes() {
		v := make([]uint16, product(shape))
		for i := range v {
			index++
			switch {
			case c.Weights.Pattern == "uint16_le_index_plus_one_wrapping":
				v[i] = uint16(index) ^ c.Weights.Mask
			case strings.HasPrefix(c.Weights.Value, "fp16 bits 0x3400 + index"):
				v[i] = 0x3400 + uint16(k)
			case c.Weights.Value == "fp16(0x1p-1)" || c.Weights.Value == "distinct":
				v[i] = 0x3800
				if c.Weights.Value == "distinct" {
					v[i] = 0x3801
				}
				if i < 64 {
					v[i] = le.Uint16(head[2*i:])
				}
			default:
				t.Fatalf("%s: unknown fill %q", c.Case, c.Weights.Value)
			}
		}
		out = append(out, v)
	}
	return out
}

func halves(v []uint16) []byte {
	b := make([]byte, 0, 2*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint16(b, x)
	}
	return b
}

func (c *recorded) compare(t *testing.T, s *Section) {
	t.Helper()
	got := s.bytes()
	sum := sha256.Sum256(got)
	if len(got) != c.Constants.Size || hex.EncodeToString(sum[:]) != c.Constants.SHA256 {
		t.Errorf("%s: section of %d bytes, SHA-256 %x; want %d, %s", c.Case, len(got), sum, c.Constants.Size,
			c.Constants.SHA256)
	}
	if s.Size() != int64(len(got)) {
		t.Errorf("%s: Size is %d, the section has %d bytes", c.Case, s.Size(), len(got))
	}
}

// TestRecordedConvolutions packs every recorded convolution from its
// parameters alone.
func TestRecordedConvolutions(t *testing.T) {
	for _, name := range []string{
		"conv_known_k1_c64_n256_s16_st1_g1_bias0_same",
		"conv_known_k1_c64_n64_s16_st1_g4_bias1_same",
		"conv_known_k3_c64_n64_s16_st1_g1_bias0_same",
		"conv_known_k3_c64_n64_s16_st1_g64_bias0_same",
		"conv_probe_k1_c1024_n1024_s16_st1_g1_bias0_same",
		"conv_probe_k1_c64_n64_s1_st1_g1_bias1_same",
		"conv_probe_k1_c64_n64_s8_st1_g1_bias0_same",
		"conv_probe_k3_c1024_n128_s16_st1_g1_bias0_same",
		"conv_probe_k3_c1024_n64_s16_st1_g1_bias0_same",
		"conv_probe_k3_c64_n64_s64_st1_g1_bias0_valid",
		"conv_known_k1_c64_n128_s16_st2_g4_bias0_same",
		"conv_known_k1_c64_n64_s16_st2_g1_bias1_same",
		"conv_known_k3_c128_n128_s16_st2_g128_bias1_same",
		"conv_known_k3_c64_n64_s16_st2_g1_bias0_same",
		"conv_probe_k3_c64_n64_s16_st2_g1_bias0_same",
		"encoder_conv_idx_c1_n256_k3x3_s2_g1_bias1_same",
	} {
		t.Run(name, func(t *testing.T) {
			c := readCase(t, name)
			ts := c.tensors(t)
			w := c.shapes()[0]
			in, out := c.Parameters.Input, c.Parameters.Output
			k := &Kernel{Out: w[0], In: in[1], KH: w[2], KW: w[3], Groups: c.Parameters.Groups, W: halves(ts[0])}
			if len(ts) > 1 {
				k.Bias = ts[1]
			}
			s := new(Section)
			if c.Parameters.Stride == 2 {
				p, err := planFor(k, in[2] <= 8 && in[3] <= 8)
				if err != nil {
					t.Fatal(err)
				}
				data, sizes, err := p.PackSkipping(k, out[2] <= 8 && out[3] <= 8)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.AddParts(data, sizes, nil); err != nil {
					t.Fatal(err)
				}
				c.compare(t, s)
				return
			}
			if _, err := s.addKernel(k, 0, convPlans(t, k, in, out)...); err != nil {
				t.Fatal(err)
			}
			c.compare(t, s)
		})
	}
}

// convPlans plans a stride 1 convolution: cut kernels run the slices last
// first.
func convPlans(t *testing.T, k *Kernel, in, out []int) []Plan {
	t.Helper()
	small := in[2] <= 8 && in[3] <= 8
	if k.Groups == 1 {
		ss, err := Cut(k.Out, k.Red(), k.Bias != nil, out[2]*out[3])
		if err != nil {
			t.Fatal(err)
		}
		if len(ss) > 1 {
			var ps []Plan
			for i := range ss {
				p, err := PlanSlice(ss[len(ss)-1-i])
				if err != nil {
					t.Fatal(err)
				}
				ps = append(ps, p)
			}
			return ps
		}
	}
	p, err := planFor(k, small)
	if err != nil {
		t.Fatal(err)
	}
	return []Plan{p}
}
