package weights

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
)

// TestRecordedProducts packs the recorded matrix products with constant weights, alone and in chains: the operations
// say what is fused after which product.
func TestRecordedProducts(t *testing.T) {
	for _, tc := range []struct {
		name  string
		table string // activation fused after the first product
	}{
		{name: "matmul_m1_k256_n512_ty1"},
		{name: "matmul_m64_k256_n1024_ty1"},
		{name: "matmul_m64_k256_n256_ty1"},
		{name: "rrmm_r2rb_m1_k256_n512_tx1_ty1"},
		{name: "chain_base_matmul_d256_s64"},
		{name: "chain_pair_mm_bias_d256_s64"},
		{name: "chain_pair_mm_mm_d256_s64"},
		{name: "chain_pair_mm_mul_d256_s64"},
		{name: "chain_pair_mm_relu_d256_s64"},
		{name: "chain_ffn_d256_s128", table: "gelu"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := readCase(t, tc.name)
			s := new(Section)
			rows := max(c.Parameters.Rows, c.Parameters.Sequence)
			ts, shapes := c.tensors(t), c.shapes()
			for i := 0; i < len(ts); i++ {
				k := &Kernel{Out: shapes[i][0], In: shapes[i][1], KH: 1, KW: 1, Groups: 1, W: halves(ts[i])}
				if i+1 < len(ts) && len(shapes[i+1]) == 3 { // a row of biases follows its weight
					k.Bias = ts[i+1]
					i++
				}
				if tc.table != "" && i == 0 {
					k.Table = plainTable(t, tc.table)
				}
				ss, err := Cut(k.Out, k.Red(), k.Bias != nil, rows)
				if err != nil || len(ss) != 1 {
					t.Fatalf("Cut: %v, %v; want one slice", ss, err)
				}
				p, err := PlanMatmul(k.Out)
				if err != nil {
					t.Fatal(err)
				}
				parts, err := s.addKernel(k, 0, p)
				if err != nil {
					t.Fatal(err)
				}
				if i == len(ts)-1 {
					compareParts(t, c, parts[0])
				}
			}
			c.compare(t, s)
		})
	}
}

// compareParts compares the last kernel DMA record of a case with parts.
func compareParts(t *testing.T, c *recorded, ps Parts) {
	t.Helper()
	var words []string
	for _, task := range c.Tasks {
		for _, r := range task.Records {
			if r.Addr == "0x0001f800" || r.Addr == "0x1f800" {
				if len(r.Words) == 62 {
					words = r.Words
				}
			}
		}
	}
	if words == nil {
		t.Fatalf("%s: no task streams coefficients", c.Case)
	}
	var want []string
	for _, live := range ps.Live {
		want = append(want, fmt.Sprintf("0x%08x", 0x80+map[bool]int{true: 1}[live]))
	}
	for _, vs := range [...][MaxCores]uint32{ps.Offset, ps.Size} {
		for _, v := range vs {
			want = append(want, fmt.Sprintf("0x%08x", v))
		}
	}
	if got := words[2:50]; !slices.Equal(got, want) {
		t.Errorf("%s: kernel DMA words\n got %v\nrecorded %v", c.Case, want, got)
	}
}

// recordedTable parses the words of tables that were read off recorded
// containers (exp, reciprocal: verified by the hash of their sections).
func recordedTable(name string) *Table {
	var t Table
	for i, w := range recordedTables[name] {
		v, err := strconv.ParseUint(w, 16, 16)
		if err != nil {
			panic(err)
		}
		t[i] = uint16(v)
	}
	return &t
}
