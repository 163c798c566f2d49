package compile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/memlimit"
)

// TestMissingCompressedWeightsTakeNoMemory checks models whose weights take 512 MB where they are unpacked, where
// their file is missing.
func TestMissingCompressedWeightsTakeNoMemory(t *testing.T) {
	const (
		blob  = `(BLOBFILE(path = string("@model_path/weight.bin"), offset = uint64(`
		dense = `tensor<fp16, [16384, 16384]> w = const()[name = string("w"), val = tensor<fp16, [16384, 16384]>` +
			blob + `64)))];`
	)
	path := filepath.Join(t.TempDir(), "model.mil")
	memlimit.Set(64 << 20)
	defer memlimit.Set(0)
	check := func(weight string) string {
		text := `program(1.3) { func main<ios18>(tensor<fp16, [1, 16384]> x) {` + weight + `
			tensor<fp16, [1, 16384]> y = linear(x = x, weight = w)[name = string("y")]; } -> (y); }`
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return answer(t, path, text, nil)
	}
	want := check(dense)
	if !strings.Contains(want, `"y"`) {
		t.Fatal(want)
	}
	for _, c := range []struct{ name, weight string }{
		{"blocks", `constexpr_blockwise_shift_scale(data = tensor<int4, [16384, 16384]>` + blob + `64))), ` +
			`scale = tensor<fp16, [16384, 512]>` + blob + `134217856))))`},
		{"palette of int8", `constexpr_blockwise_shift_scale(data = q, scale = tensor<fp16, [16384, 1]>` + blob +
			`134217856))))`},
		{"palette", `constexpr_lut_to_dense(indices = tensor<uint4, [16384, 16384]>` + blob + `64))), ` +
			`lut = tensor<fp16, [1, 1, 16, 1]>` + blob + `134217856))))`},
	} {
		const bytes = `tensor<int8, [16384, 16384]> q = constexpr_lut_to_dense(` +
			`indices = tensor<uint4, [16384, 16384]>` + blob + `64))), ` +
			`lut = tensor<int8, [1, 1, 16, 1]>` + blob + `134217856))))[name = string("q")];`
		got := check(bytes + `tensor<fp16, [16384, 16384]> w = ` + c.weight + `[name = string("w")];`)
		if !strings.Contains(got, `"estimate"`) || strings.Contains(got, "limit of") {
			t.Errorf("%s: %.300s", c.name, got)
		}
	}
}
