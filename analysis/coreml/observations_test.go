package coreml

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
)

// described are graphs that are written from what an observation says of them, by the beginning of its name.
var described = []struct {
	graph string
	write func(m *milText)
}{
	{"matmul 4x4x4 fp32 model io", func(m *milText) { m.castMatmul(4) }},
	{"affine_4", func(m *milText) {
		x := m.cast(m.input("fp32, [4]"), "fp16")
		x = m.call("mul", "x = $0, y = fp16(0x1p+1)", []milValue{x}, "fp16, [4]")
		x = m.cast(m.cast(x, "fp32"), "fp16")
		x = m.call("add", "x = $0, y = fp16(0x1p+0)", []milValue{x}, "fp16, [4]")
		m.cast(x, "fp32")
	}},
	{"matmul 128^3 fp16", func(m *milText) { m.castMatmul(128) }},
	{"matmul 512^3 fp16", func(m *milText) { m.castMatmul(512) }},
	{"sdpa 1x1x2048x128 fp32", func(m *milText) { m.attend("fp32, [1, 1, 2048, 128]") }},
	{"sdpa 1x8x512x64 fp16", func(m *milText) { m.attend("fp16, [1, 8, 512, 64]") }},
	{"sdpa 1x16x1024x64 fp16", func(m *milText) { m.attend("fp16, [1, 16, 1024, 64]") }},
	{"sdpa 1x16x1024x64 fp32", func(m *milText) { m.attend("fp32, [1, 16, 1024, 64]") }},
	{"sdpa 1x32x1024x128 fp32", func(m *milText) { m.attend("fp32, [1, 32, 1024, 128]") }},
	{"sdpa 1x32x1024x128 fp16", func(m *milText) { m.attend("fp16, [1, 32, 1024, 128]") }},
	{"conv, linear, matmul with int4/int8 constexpr weight", func(m *milText) {
		w := m.call("constexpr_blockwise_shift_scale", "data = int4[1024, 1024], scale = fp16[1024, 32]", nil,
			"fp16, [1024, 1024]")
		m.free = nil
		x := m.input("fp16, [64, 1024]")
		m.call("linear", "x = $0, weight = $1", []milValue{x, w}, "fp16, [64, 1024]")
	}},
	{"decode linear 4992<=k<=16384 fp16", func(m *milText) { m.decodeLinear(8192, 8192) }},
	{"decode linear k>16384", func(m *milText) { m.decodeLinear(20000, 4096) }},
	{"Llama-3.2-1B-like decode step, 16 layers conv1x1", func(m *milText) {
		m.decoder(decoderShape{layers: 16, hidden: 2048, heads: 32, kv: 8, width: 64, ffn: 8192, keys: 512, rows: 1})
	}},
	{"Qwen3-0.6B prefill seq 128, stateless", func(m *milText) {
		m.decoder(decoderShape{layers: 28, hidden: 1024, heads: 16, kv: 8, width: 128, ffn: 3072, keys: 128, rows: 128})
	}},
}

// differ are the observations that the forecast does not match, and what is known about each.
var differ = map[string]string{
	"sdpa 1x32x1024x128 fp16": "by bytes attention stays on the CPU; it was seen on the engine",
	"decode linear k>16384":   "a limit that macOS 15 had",
}

func (m *milText) cast(x milValue, dtype string) milValue {
	_, shape, _ := strings.Cut(x.typ, ", ")
	return m.call("cast", fmt.Sprintf(`x = $0, dtype = "%s"`, dtype), []milValue{x}, dtype+", "+shape)
}

// castMatmul is a product of matrices in fp16 with inputs and result in fp32.
func (m *milText) castMatmul(n int) {
	square := fmt.Sprintf("[%d, %d]", n, n)
	a, b := m.cast(m.input("fp32, "+square), "fp16"), m.cast(m.input("fp32, "+square), "fp16")
	m.cast(m.call("matmul", "x = $0, y = $1, transpose_x = false, transpose_y = false", []milValue{a, b},
		"fp16, "+square), "fp32")
}

func (m *milText) attend(typ string) {
	m.call("scaled_dot_product_attention", "query = $0, key = $1, value = $2",
		[]milValue{m.input(typ), m.input(typ), m.input(typ)}, typ)
}

// decodeLinear is a product of one row.
func (m *milText) decodeLinear(depth, columns int) {
	m.call("linear", fmt.Sprintf("x = $0, weight = fp16[%d, %d]", columns, depth),
		[]milValue{m.input(fmt.Sprintf("fp16, [1, %d]", depth))}, fmt.Sprintf("fp16, [1, %d]", columns))
}

// decoderShape is the shape of a transformer whose products are 1x1 convolutions.
type decoderShape struct{ layers, hidden, heads, kv, width, ffn, keys, rows int }

// decoder writes a decoder without embedding and head. The cache is an input; what is new is added to it by a mask.
func (m *milText) decoder(s decoderShape) {
	typ := func(dims ...int) string {
		parts := make([]string, len(dims))
		for i, d := range dims {
			parts[i] = strconv.Itoa(d)
		}
		return "fp16, [" + strings.Join(parts, ", ") + "]"
	}
	op := func(name, args, result string, xs ...milValue) milValue {
		v := m.call(name, args, xs, result)
		return v
	}
	conv := func(x milValue, in, out int) milValue {
		return op("conv", fmt.Sprintf(`x = $0, weight = fp16[%d, %d, 1, 1], pad_type = "valid"`, out, in),
			typ(1, out, 1, s.rows), x)
	}
	norm := func(x milValue) milValue {
		t, one := typ(1, s.hidden, 1, s.rows), typ(1, 1, 1, s.rows)
		y := op("reduce_mean", "x = $0, axes = [1], keep_dims = true", one, op("mul", "x = $0, y = $1", t, x, x))
		y = op("rsqrt", "x = $0, epsilon = fp16(0x1p-16)", one, y)
		return op("mul", "x = $0, y = fp16["+strings.TrimPrefix(typ(1, s.hidden, 1, 1), "fp16, ["), t,
			op("mul", "x = $0, y = $1", t, x, y))
	}
	rotate := func(x milValue, heads int) milValue {
		t, half := typ(1, heads, s.width, s.rows), typ(1, heads, s.width/2, s.rows)
		x = op("reshape", fmt.Sprintf("x = $0, shape = [1, %d, %d, %d]", heads, s.width, s.rows), t, x)
		a := op("slice_by_index", fmt.Sprintf("x = $0, begin = [0, 0, 0, 0], end = [1, %d, %d, %d]", heads, s.width/2,
			s.rows), half, x)
		b := op("slice_by_index", fmt.Sprintf("x = $0, begin = [0, 0, %d, 0], end = [1, %d, %d, %d]", s.width/2, heads,
			s.width, s.rows), half, x)
		b = op("mul", "x = $0, y = fp16(-0x1p+0)", half, b)
		swapped := op("concat", "values = ($0, $1), axis = 2, interleave = false", t, b, a)
		angle := fmt.Sprintf("x = $0, y = fp16[1, 1, %d, %d]", s.width, s.rows)
		return op("add", "x = $0, y = $1", t, op("mul", angle, t, x), op("mul", angle, t, swapped))
	}
	x := m.input(typ(1, s.hidden, 1, s.rows))
	for range s.layers {
		h := norm(x)
		q := rotate(conv(h, s.hidden, s.heads*s.width), s.heads)
		k := rotate(conv(h, s.hidden, s.kv*s.width), s.kv)
		v := op("reshape", fmt.Sprintf("x = $0, shape = [1, %d, %d, %d]", s.kv, s.width, s.rows),
			typ(1, s.kv, s.width, s.rows), conv(h, s.hidden, s.kv*s.width))
		if s.keys != s.rows {
			wide := typ(1, s.kv, s.width, s.keys)
			k = op("add", "x = $0, y = $1", wide, m.input(wide), k)
			v = op("add", "x = $0, y = $1", wide, m.input(wide), v)
		}
		group := s.heads / s.kv
		repeat := func(v milValue) milValue {
			t := typ(1, s.heads, s.width, s.keys)
			return op("tile", fmt.Sprintf("x = $0, reps = [1, %d, 1, 1]", group), t, v)
		}
		scores := typ(1, s.heads, s.rows, s.keys)
		p := op("matmul", "x = $0, y = $1, transpose_x = true, transpose_y = false", scores, q, repeat(k))
		p = op("mul", "x = $0, y = fp16(0x1p-3)", scores, p)
		p = op("softmax", "x = $0, axis = -1", scores, op("add", fmt.Sprintf("x = $0, y = fp16[1, 1, %d, %d]", s.rows,
			s.keys), scores, p))
		o := op("matmul", "x = $0, y = $1, transpose_x = false, transpose_y = true",
			typ(1, s.heads, s.width, s.rows), repeat(v), p)
		o = op("reshape", fmt.Sprintf("x = $0, shape = [1, %d, 1, %d]", s.heads*s.width, s.rows),
			typ(1, s.heads*s.width, 1, s.rows), o)
		t := typ(1, s.hidden, 1, s.rows)
		x = op("add", "x = $0, y = $1", t, x, conv(o, s.heads*s.width, s.hidden))
		h = norm(x)
		f := op("mul", "x = $0, y = $1", typ(1, s.ffn, 1, s.rows), op("silu", "x = $0", typ(1, s.ffn, 1, s.rows),
			conv(h, s.hidden, s.ffn)), conv(h, s.hidden, s.ffn))
		x = op("add", "x = $0, y = $1", t, x, conv(f, s.ffn, s.hidden))
		m.free = nil
	}
	m.free = []milValue{x}
}

// TestObservations prints, for each published share of a whole model whose graph is here or can be written from its
// description, the forecast beside it. Graphs of over 300 operations match within 2 points, smaller ones too unless
// they are listed.
func TestObservations(t *testing.T) {
	shared := shareddir.Find(t)
	b, err := os.ReadFile(filepath.Join(shared, "coreml", "observations.tsv"))
	if err != nil {
		t.Skipf("no table of observations: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	head := strings.Split(lines[0], "\t")
	right, all := 0, 0
	for _, l := range lines[1:] {
		f := append(strings.Split(l, "\t"), "", "")
		get := func(name string) string { return f[slices.Index(head, name)] }
		observed, err := strconv.ParseFloat(get("ane_pct"), 64)
		p := observedProgram(t, shared, get("graph"), get("graph_file"))
		if p == nil || err != nil {
			continue
		}
		plan, err := Forecast(t.Context(), p, Options{Units: CPUEngine})
		if err != nil {
			t.Fatalf("%s: %v", get("graph"), err)
		}
		predicted := 100 * float64(plan.OnEngine()) / float64(plan.Own())
		all++
		verdict := ""
		if math.Abs(predicted-observed) <= 2 {
			right++
		} else {
			verdict = differ[get("graph")]
			if verdict == "" || plan.Own() > 300 {
				t.Errorf("%s: %.1f %% on the engine, observed %.1f", get("graph"), predicted, observed)
			}
		}
		t.Logf("%-52s %-8s observed %5.1f %% of %4s, forecast %5.1f %% of %4d  %s", get("graph"), get("chip"), observed,
			get("ops"), predicted, plan.Own(), verdict)
	}
	documented(t, "%d observed shares of whole models: %d within 2 points", all, right)
}

// observedProgram returns the graph of an observation, nil if it is neither here nor described.
func observedProgram(t *testing.T, shared, graph, file string) *ir.Program {
	t.Helper()
	if strings.HasPrefix(file, "../corpus/") {
		m, err := frontend.Open(filepath.Join(shared, "coreml", file), frontend.Options{AssumeWeights: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m.Program
	}
	for _, d := range described {
		if strings.HasPrefix(graph, d.graph) {
			m := new(milText)
			d.write(m)
			return m.program(t, "ios18")
		}
	}
	return nil
}
