package mil

import (
	"bytes"
	"fmt"
	goparser "go/parser"
	gotoken "go/token"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// syntheticModel returns at least size bytes of MIL text like a compiled encoder's: convolutions with weights in a
// file, small constants, norms.
func syntheticModel(size int) []byte {
	var b bytes.Buffer
	b.WriteString("program(1.3)\n[buildInfo = dict<string, string>({{\"coremlc-version\", \"3520.5.1\"}})]\n{\n" +
		"    func main<ios18>(tensor<fp16, [1, 64, 8, 8]> x) {\n")
	last := "x"
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `            string layer_%[1]d_pad_type_0 = const()[name = `+
			`string("layer_%[1]d_pad_type_0"), val = string("valid")];
            tensor<int32, [2]> layer_%[1]d_strides_0 = const()[name = string("layer_%[1]d_strides_0"), val = `+
			`tensor<int32, [2]>([1, 1])];
            tensor<fp16, [64]> layer_%[1]d_bias = const()[name = string("layer_%[1]d_bias"), val = tensor<fp16, `+
			`[64]>(BLOBFILE(path = string("@model_path/weights/weight.bin"), offset = uint64(%[3]d)))];
            tensor<fp16, [4]> layer_%[1]d_lut = const()[name = string("layer_%[1]d_lut"), val = tensor<fp16, [4]>`+
			`([-0x1.48p-1, -0x1.ad8p-5, 0x1.344p-2, 0x1.7f4p-1])];
            tensor<fp16, [1, 64, 8, 8]> layer_%[1]d_cast_fp16 = conv(bias = layer_%[1]d_bias, dilations = `+
			`layer_%[1]d_strides_0, groups = int32(1), pad_type = layer_%[1]d_pad_type_0, strides = `+
			`layer_%[1]d_strides_0, x = %[2]s)[name = string("layer_%[1]d_cast_fp16")];
`, i, last, 64+256*i)
		last = fmt.Sprintf("layer_%d_cast_fp16", i)
	}
	fmt.Fprintf(&b, "        } -> (%s);\n}\n", last)
	return b.Bytes()
}

// goSource returns Go source files of about size bytes in total: the files of net/http, repeated.
func goSource(b *testing.B, size int) (files [][]byte, total int) {
	b.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skipf("no Go source to compare with: %v", err)
	}
	names, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", "net", "http", "*.go"))
	if err != nil || len(names) == 0 {
		b.Skip("no Go source to compare with: the toolchain has no net/http")
	}
	sort.Strings(names)
	for total < size {
		for _, n := range names {
			src, err := os.ReadFile(n)
			if err != nil {
				b.Fatal(err)
			}
			files = append(files, src)
			if total += len(src); total >= size {
				break
			}
		}
	}
	return files, total
}

// goSpeed measures go/parser in bytes a second, the best of several runs.
func goSpeed(b *testing.B, size int) float64 {
	files, total := goSource(b, size)
	best := 0.0
	for range 3 {
		start := time.Now()
		fset := gotoken.NewFileSet()
		for _, src := range files {
			if _, err := goparser.ParseFile(fset, "x.go", src, goparser.SkipObjectResolution); err != nil {
				b.Fatal(err)
			}
		}
		best = max(best, float64(total)/time.Since(start).Seconds())
	}
	return best
}

// BenchmarkParse reports the speed of Parse, the speed of go/parser on as much Go source, and their ratio.
func BenchmarkParse(b *testing.B) {
	inputs := []struct {
		name string
		src  func() []byte
	}{
		{"encoder", func() []byte {
			src, err := os.ReadFile(filepath.Join(shareddir.Find(b), "corpus", "parakeet-eou-encoder-1280ms",
				"model.mil"))
			if err != nil {
				b.Fatal(err)
			}
			return src
		}},
		{"synthetic", func() []byte { return syntheticModel(8 << 20) }},
		{"inline", func() []byte {
			values := make([]float64, 1<<19)
			for i := range values {
				values[i] = float64(i%4093) / 4096
			}
			t := &Type{Kind: TensorType, Elem: "fp32", Dims: []Dim{{Size: 1 << 19}}}
			lit := valueText(FloatLiteral(t, []int{1 << 19}, values))
			return fmt.Appendf(nil, "program(1.0) { func main<ios15>() { tensor<fp32, [%d]> x = const()[val = %s]; "+
				"} -> (x); }", 1<<19, lit)
		}},
	}
	for _, in := range inputs {
		b.Run(in.name, func(b *testing.B) {
			src := in.src()
			goRate := goSpeed(b, len(src))
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if _, l := Parse("model.mil", src); l.HasErrors() {
					b.Fatal(l.Err())
				}
			}
			rate := float64(len(src)) * float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(goRate/1e6, "go-MB/s")
			b.ReportMetric(rate/goRate, "ratio")
		})
	}
}

// BenchmarkFloats measures the conversion of a literal of hexadecimal floats.
func BenchmarkFloats(b *testing.B) {
	values := make([]float64, 1<<16)
	for i := range values {
		values[i] = float64(i%4093) / 4096
	}
	l := FloatLiteral(nil, []int{len(values)}, values)
	b.SetBytes(int64(len(l.text)))
	for b.Loop() {
		if _, err := l.Floats(); err != nil {
			b.Fatal(err)
		}
	}
}
