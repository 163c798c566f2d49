package weights

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

func plainTable(t *testing.T, name string) *Table {
	t.Helper()
	a, err := Activate(name)
	if err != nil {
		t.Fatal(err)
	}
	return &a.Table
}

// TestRecordedTables builds the sections of table tasks.
func TestRecordedTables(t *testing.T) {
	gelu, sigmoid, tanh := plainTable(t, "gelu"), plainTable(t, "sigmoid"), plainTable(t, "tanh")
	rsqrt, exp, reciprocal := plainTable(t, "rsqrt"), plainTable(t, "exp"), plainTable(t, "reciprocal")
	type stream struct {
		table *Table
		lanes int
	}
	for _, tc := range []struct {
		name    string
		streams []stream
	}{
		{"unary_exp_c64", []stream{{exp, 16}}},
		{"unary_gelu_c64", []stream{{gelu, 16}}},
		{"unary_sigmoid_c64", []stream{{sigmoid, 16}}},
		{"unary_tanh_c64", []stream{{tanh, 16}}},
		{"unary_rsqrt_c64", []stream{{rsqrt, 16}}},
		{"env_act_gelu_1x64x8x8_exact", []stream{{gelu, 16}}},
		{"chain_base_gelu_d256_s64", []stream{{gelu, 1}}},
		{"chain_attn_s64_dh64", []stream{{exp, 16}}},
		{"norm_softmax_a3_1x1x1x64", []stream{{exp, 1}}},
		{"norm_softmax_a1_1x64x1x1", []stream{{exp, 1}, {reciprocal, 1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := readCase(t, tc.name)
			s := new(Section)
			for _, st := range tc.streams {
				if _, err := s.AddTable(st.table, st.lanes); err != nil {
					t.Fatal(err)
				}
			}
			c.compare(t, s)
		})
	}
}

// TestRecordedPairs builds the sections of per-channel elementwise constants.
func TestRecordedPairs(t *testing.T) {
	fill := func(v uint16) []uint16 { return slices.Repeat([]uint16{v}, 64) }
	for _, tc := range []struct {
		name string
		rows func(c []uint16) (bias, scale []uint16)
	}{
		{"binary_add_c64_constant_blob", func(c []uint16) ([]uint16, []uint16) { return c, fill(0x3c00) }},
		{"env_bcast_mul_1x64x8x8_blob_1x64x1x1", func(c []uint16) ([]uint16, []uint16) { return fill(0), c }},
		{"binary_real_div_c64_constant_scalar", func([]uint16) ([]uint16, []uint16) { return fill(0), fill(0x4000) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := readCase(t, tc.name)
			var v []uint16
			if c.Weights.Storage == "BLOBFILE" {
				v = c.tensors(t)[0]
			}
			row, err := PairRows(tc.rows(v))
			if err != nil {
				t.Fatal(err)
			}
			s := new(Section)
			if _, err := s.AddRow(row, nil); err != nil {
				t.Fatal(err)
			}
			c.compare(t, s)
		})
	}
}

func TestRecordedPaired(t *testing.T) {
	c := readCase(t, "encoder_conv_idx_c1024_n1024_k1x9_s1_g1024_bias1_same_wmaj")
	ts := c.tensors(t)
	k := &Kernel{Out: 1024, In: 1024, KH: 1, KW: 9, Groups: 1024, W: halves(ts[0]), Bias: ts[1]}
	p, err := PlanDepthwise(1024)
	if err != nil {
		t.Fatal(err)
	}
	b, sizes, err := p.PackPaired(k)
	if err != nil {
		t.Fatal(err)
	}
	s := new(Section)
	ps, err := s.AddParts(b, sizes, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.compare(t, s)
	compareParts(t, c, ps)
}

func TestRecordedShift(t *testing.T) {
	c := readCase(t, "encoder_conv_pad_c8_n8_k1x1_s1_g8_bias0_p0010_f4")
	s := new(Section)
	p, err := PlanDepthwise(8)
	if err != nil {
		t.Fatal(err)
	}
	// The same bytes are recorded for an output of 8x8, whose cells have four
	// slots (encoder_conv_pad_c8_n8_k1x1_s1_g8_bias0_p0010_tiny).
	shift, sizes, err := p.PackMasks(ShiftKernel(8, 1, 2, 0, 0), false)
	if small, _, err := p.PackMasks(ShiftKernel(8, 1, 2, 0, 0), true); err != nil || !bytes.Equal(small, shift) {
		t.Errorf("cells of four slots give other bytes (%v)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.AddParts(shift, sizes, nil)
	if err != nil {
		t.Fatal(err)
	}
	if first.Offset[1] != 0x80 || first.Size[1] != 0x80 || first.Live[8] {
		t.Errorf("parts at %#x of %#x bytes", first.Offset, first.Size)
	}
	ps, err := s.addKernel(&Kernel{Out: 8, In: 8, KH: 1, KW: 1, Groups: 8, W: halves(c.tensors(t)[0])}, 1, p)
	if err != nil {
		t.Fatal(err)
	}
	c.compare(t, s)
	compareParts(t, c, ps[0])
}

// TestGoldenConvolutions packs the 3 to 3 channel 1x1 kernels of the recorded
// containers: four cores active, three tiles of 64 bytes.
func TestGoldenConvolutions(t *testing.T) {
	for _, tc := range []struct {
		file string
		v    uint16
	}{{"conv.hwx", 0x4000}, {"conv3.hwx", 0x4200}} {
		b, err := os.ReadFile(filepath.Join(shareddir.Find(t), "golden", "apple-h13", tc.file))
		if err != nil {
			t.Fatal(err)
		}
		k := &Kernel{Out: 3, In: 3, KH: 1, KW: 1, Groups: 1, W: halves(slices.Repeat([]uint16{tc.v}, 9))}
		p, err := PlanDense(3, false)
		if err != nil {
			t.Fatal(err)
		}
		if p.Cores != 4 {
			t.Errorf("%s: %d cores active, want 4", tc.file, p.Cores)
		}
		s := new(Section)
		if _, err := s.addKernel(k, 1, p); err != nil {
			t.Fatal(err)
		}
		if got := sectionConst(t, b); !bytes.Equal(s.bytes(), got) {
			t.Errorf("%s: section %x, want %x", tc.file, s.bytes(), got)
		}
	}
}

// sectionConst finds __const of __TEXT by its section header.
func sectionConst(t *testing.T, b []byte) []byte {
	t.Helper()
	name := append([]byte("__const\x00\x00\x00\x00\x00\x00\x00\x00\x00"), "__TEXT\x00"...)
	i := bytes.Index(b, name)
	if i < 0 {
		t.Fatal("the container has no constant section")
	}
	size, off := binary.LittleEndian.Uint64(b[i+40:]), binary.LittleEndian.Uint32(b[i+48:])
	return b[off : uint64(off)+size]
}
