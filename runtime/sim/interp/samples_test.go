package interp

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
)

// codeSamples are the samples of operations with operands that the text form does not have: blocks, lists and states.
var codeSamples = map[string]func(t *testing.T){
	"cond":                sampleCond,
	"while_loop":          sampleWhileLoop,
	"make_list":           sampleLists,
	"list_length":         sampleLists,
	"list_read":           sampleLists,
	"list_write":          sampleLists,
	"list_gather":         sampleLists,
	"list_scatter":        sampleLists,
	"read_state":          sampleStates,
	"write_state":         sampleStates,
	"coreml_update_state": sampleStates,
}

// shapeParams are parameters that need not be constants, but whose values determine the result's shape, so the rule
// needs to see them.
var shapeParams = map[string]bool{
	"shape": true, "reps": true, "pad": true, "begin": true, "end": true, "size": true, "start": true, "step": true,
	"one_hot_vector_size": true, "begins": true, "ends": true, "end_masks": true, "output_shape": true,
}

// sample is one line of testdata/samples.txt.
type sample struct {
	line   int
	opsets []string
	op     string
	args   [][2]string // name and value
	want   []string
}

// fields splits a line at the blanks that are outside brackets and quotes.
func fields(s string, at func(r byte) bool) []string {
	var out []string
	depth, quoted, start := 0, false, 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || depth == 0 && !quoted && at(s[i]) {
			if f := strings.TrimSpace(s[start:i]); f != "" {
				out = append(out, f)
			}
			start = i + 1
			continue
		}
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case strings.IndexByte("[{(<", c) >= 0:
			depth++
		case strings.IndexByte("]})", c) >= 0, c == '>' && depth > 0:
			depth--
		}
	}
	return out
}

func blank(c byte) bool { return c == ' ' }

func readSamples(t *testing.T) []sample {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "samples.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []sample
	for i, l := range bytes.Split(text, []byte("\n")) {
		f := fields(string(l), blank)
		if len(f) == 0 || f[0][0] == '#' {
			continue
		}
		if len(f) < 4 {
			t.Fatalf("samples.txt:%d: too short", i+1)
		}
		s := sample{line: i + 1, opsets: strings.Split(f[0], ","), op: f[1]}
		arrow := slices.Index(f, "->")
		if arrow < 0 || arrow == len(f)-1 {
			t.Fatalf("samples.txt:%d: no result", i+1)
		}
		for _, a := range f[2:arrow] {
			name, v, ok := strings.Cut(a, "=")
			if !ok {
				t.Fatalf("samples.txt:%d: %q is no argument", i+1, a)
			}
			s.args = append(s.args, [2]string{name, v})
		}
		s.want = f[arrow+1:]
		out = append(out, s)
	}
	return out
}

// parseValue reads one value of a sample.
func parseValue(s string) (Tensor, error) {
	switch {
	case s == "true" || s == "false":
		return FromConst(ir.ConstBool(s == "true")), nil
	case strings.HasPrefix(s, `"`):
		return FromConst(ir.ConstString(strings.Trim(s, `"`))), nil
	case strings.HasPrefix(s, "<"):
		f := fields(s[1:len(s)-1], blank)
		switch f[0][0] {
		case '"':
			t := Tensor{Type: ir.TensorOf(ir.String, int64(len(f)))}
			for _, e := range f {
				t.Strings = append(t.Strings, strings.Trim(e, `"`))
			}
			return t, nil
		case 't', 'f':
			vs := make([]int64, len(f))
			for i, e := range f {
				if e == "true" {
					vs[i] = 1
				}
			}
			return FromInts(ir.Bool, vs, int64(len(f)))
		}
		return numbers(ir.Int32, f, []int64{int64(len(f))})
	}
	head, body, ok := strings.Cut(s, "{")
	if !ok {
		if strings.ContainsAny(s, ".n") {
			return numbers(ir.FP32, []string{s}, nil)
		}
		return numbers(ir.Int32, []string{s}, nil)
	}
	elems := strings.Fields(strings.TrimSuffix(body, "}"))
	name, dims, hasDims := strings.Cut(strings.TrimSuffix(head, "]"), "[")
	d := ir.FP32
	if name != "" {
		if d, ok = ir.ParseDType(name); !ok {
			return Tensor{}, fmt.Errorf("%q is no element type", name)
		}
	}
	shape := []int64{int64(len(elems))}
	if hasDims {
		shape = nil
		for _, n := range strings.FieldsFunc(dims, func(r rune) bool { return r == ',' }) {
			v, err := strconv.ParseInt(n, 10, 64)
			if err != nil {
				return Tensor{}, err
			}
			shape = append(shape, v)
		}
	}
	return numbers(d, elems, shape)
}

func numbers(d ir.DType, elems []string, shape []int64) (Tensor, error) {
	if d.IsFloat() {
		vs := make([]float32, len(elems))
		for i, e := range elems {
			v, err := strconv.ParseFloat(e, 32)
			if err != nil {
				return Tensor{}, err
			}
			vs[i] = float32(v)
		}
		return FromFloats(d, vs, shape...)
	}
	vs := make([]int64, len(elems))
	for i, e := range elems {
		v, err := strconv.ParseInt(e, 10, 64)
		if err != nil {
			return Tensor{}, err
		}
		vs[i] = v
	}
	return FromInts(d, vs, shape...)
}

// run executes the sample in the form of its opset. Result types come from the shape rule.
func (s sample) run(t *testing.T, opset string) {
	b := newBld(t, opset)
	value := func(p ir.Param, text string, i int) *ir.Value {
		x, err := parseValue(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if p.Const || shapeParams[string(p.Name)] {
			return constant(x)
		}
		return b.input(fmt.Sprintf("%s%d", p.Name, i), x)
	}
	a := args{}
	def := ir.Lookup(s.op, opset)
	if def == nil {
		t.Fatalf("no row %s", s.op)
	}
	for _, arg := range s.args {
		i := def.ParamIndex(ir.ParamName(arg[0]))
		if i < 0 {
			t.Fatalf("%s has no parameter %s", s.op, arg[0])
		}
		p := def.Params[i]
		if !strings.HasPrefix(arg[1], "(") {
			a[arg[0]] = value(p, arg[1], 0)
			continue
		}
		var list []*ir.Value
		for k, e := range fields(strings.Trim(arg[1], "()"), func(c byte) bool { return c == ';' }) {
			list = append(list, value(p, e, k))
		}
		a[arg[0]] = list
	}
	outs := b.opAs(s.op, a)
	if len(outs) != len(s.want) {
		t.Fatalf("%d results, want %d", len(outs), len(s.want))
	}
	for i, got := range b.run(Options{}, outs...) {
		want, err := parseValue(s.want[i])
		if err != nil {
			t.Fatalf("%s: %v", s.want[i], err)
		}
		wantTensor(t, i, got, want)
	}
}

// wantTensor compares types exactly, floats to seven digits and anything else
// exactly.
func wantTensor(t *testing.T, i int, got, want Tensor) {
	t.Helper()
	switch {
	case !got.Type.Equal(want.Type):
		t.Errorf("result %d is %s, want %s", i, got.Type, want.Type)
	case want.Type.DType.IsFloat():
		wantFloats(t, got, 1e-6, want.Type.Shape, want.Floats32()...)
	case !got.Equal(want):
		t.Errorf("result %d is %v, want %v", i, got.Const(), want.Const())
	}
}

// TestEveryOperationHasASampleThatRuns runs testdata/samples.txt and the samples in code, and fails if a row of the
// registry has none.
func TestEveryOperationHasASampleThatRuns(t *testing.T) {
	have := map[*ir.OpDef]bool{}
	for _, s := range readSamples(t) {
		for _, o := range s.opsets {
			have[ir.Lookup(s.op, "ios"+o)] = true
			t.Run(fmt.Sprintf("%s/ios%s/line%d", s.op, o, s.line), func(t *testing.T) { s.run(t, "ios"+o) })
		}
	}
	for name, f := range codeSamples {
		for _, d := range ir.Forms(name) {
			have[d] = true
		}
		t.Run(name, f)
	}
	for _, n := range ir.Names() {
		for _, d := range ir.Forms(n) {
			if !have[d] {
				t.Errorf("row %s (since %q) has no sample; add one to testdata/samples.txt", n, d.Since)
			}
		}
	}
}
