package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// graph writes a graph as MIL text.
//
// A description is a list of steps separated by "; ". The first are the inputs, one shape each ("in 1x64x16x16"); the
// others are operations on the result of the step before, separated by ", ", and may be repeated ("16 of conv 256 3,
// relu"). Constant weights are named, not stored: their values are assumed, as zinc check does without weight files.
type graph struct {
	text   strings.Builder
	values int
	offset int // of the next constant in the weight file that does not exist
	inputs []value
	at     value             // the result of the step before
	shared map[string]string // constants that every repetition reads, by type
}

// value is a tensor of the text.
type value struct {
	name  string
	shape []int
}

// milOf returns the MIL text of a description.
func milOf(description string) (text string, err error) {
	g := &graph{shared: map[string]string{}}
	for _, step := range strings.Split(description, "; ") {
		times := 1
		if n, rest, ok := strings.Cut(step, " of "); ok {
			if times, err = strconv.Atoi(n); err != nil {
				return "", fmt.Errorf("graph %q: %q is not a number of repetitions", description, n)
			}
			step = rest
		}
		for range times {
			for _, op := range strings.Split(step, ", ") {
				if err := g.op(strings.Fields(op)); err != nil {
					return "", fmt.Errorf("graph %q: %s: %w", description, op, err)
				}
			}
		}
	}
	var params []string
	for _, v := range g.inputs {
		params = append(params, tensor(v.shape)+" "+v.name)
	}
	return fmt.Sprintf("program(1.3)\n{\n    func main<ios18>(%s) {\n%s    } -> (%s);\n}\n", strings.Join(params, ", "),
		g.text.String(), g.at.name), nil
}

func list(ns []int) string {
	var s []string
	for _, n := range ns {
		s = append(s, strconv.Itoa(n))
	}
	return "[" + strings.Join(s, ", ") + "]"
}

func ints(ns ...int) string { return fmt.Sprintf("tensor<int32, [%d]>(%s)", len(ns), list(ns)) }

func tensor(shape []int) string { return "tensor<fp16, " + list(shape) + ">" }

// add writes an operation and makes its result the current value.
func (g *graph) add(shape []int, format string, args ...any) value {
	g.values++
	v := value{fmt.Sprintf("v%d", g.values), slices.Clone(shape)}
	fmt.Fprintf(&g.text, "        %s %s = %s;\n", tensor(shape), v.name, fmt.Sprintf(format, args...))
	g.at = v
	return v
}

// weight writes a constant of a weight file and returns its name; the current value stays.
func (g *graph) weight(shape ...int) string {
	at := g.at
	g.offset += 64
	w := g.add(shape, "const()[val = %s(BLOBFILE(path = string(\"@model_path/weights.bin\"), offset = uint64(%d)))]",
		tensor(shape), g.offset)
	g.at = at
	return w.name
}

// operations are the operations of a description, with the numbers that follow their names.
var operations = map[string]struct {
	numbers int
	write   func(g *graph, n []int, shared bool) error
}{
	"linear":     {1, (*graph).linear},
	"conv":       {2, (*graph).conv},
	"valid":      {2, (*graph).valid},
	"relu":       {0, (*graph).relu},
	"sigmoid":    {0, (*graph).sigmoid},
	"gelu":       {0, (*graph).gelu},
	"sum":        {0, (*graph).sum},
	"softmax":    {0, (*graph).softmax},
	"layer_norm": {0, (*graph).layerNorm},
	"rms_norm":   {0, (*graph).rmsNorm},
	"l2_norm":    {0, (*graph).l2Norm},
	"sdpa":       {0, (*graph).sdpa},
	"mha":        {1, (*graph).mha},
	"jacobi":     {0, (*graph).jacobi},
}

// op writes one operation. "shared" as its last word means that all repetitions read one weight.
func (g *graph) op(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("missing operation")
	}
	if words[0] == "in" {
		return g.input(words[1:])
	}
	o, ok := operations[words[0]]
	if !ok {
		return fmt.Errorf("unknown operation %q", words[0])
	}
	args := words[1:]
	shared := len(args) > o.numbers && args[o.numbers] == "shared"
	if shared {
		args = args[:o.numbers]
	}
	if len(args) != o.numbers {
		return fmt.Errorf("got %d numbers, want %d", len(args), o.numbers)
	}
	var ns []int
	for _, a := range args {
		n, err := strconv.Atoi(a)
		if err != nil || n <= 0 {
			return fmt.Errorf("%q is not a positive number", a)
		}
		ns = append(ns, n)
	}
	if len(g.inputs) == 0 {
		return fmt.Errorf("an input must come first")
	}
	return o.write(g, ns, shared)
}

func (g *graph) input(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one shape")
	}
	var shape []int
	for _, s := range strings.Split(args[0], "x") {
		n, err := strconv.Atoi(s)
		if err != nil || n <= 0 {
			return fmt.Errorf("%q is not a shape", args[0])
		}
		shape = append(shape, n)
	}
	v := value{fmt.Sprintf("x%d", len(g.inputs)), shape}
	g.inputs = append(g.inputs, v)
	g.at = v
	return nil
}

// constant returns a weight, the same for all repetitions if it is shared.
func (g *graph) constant(shared bool, shape ...int) string {
	if !shared {
		return g.weight(shape...)
	}
	key := tensor(shape)
	if g.shared[key] == "" {
		g.shared[key] = g.weight(shape...)
	}
	return g.shared[key]
}

// last returns the shape of the current value with another last dimension.
func (g *graph) last(n int) []int {
	s := slices.Clone(g.at.shape)
	s[len(s)-1] = n
	return s
}

func (g *graph) width() int { return g.at.shape[len(g.at.shape)-1] }

func (g *graph) linear(n []int, shared bool) error {
	w := g.constant(shared, n[0], g.width())
	g.add(g.last(n[0]), "matmul(x = %s, y = %s, transpose_x = bool(false), transpose_y = bool(true))", g.at.name, w)
	return nil
}

func (g *graph) conv(n []int, shared bool) error  { return g.convolve(n, n[1]/2, shared) }
func (g *graph) valid(n []int, shared bool) error { return g.convolve(n, 0, shared) }

// convolve writes a convolution of stride 1 with n[0] outputs, a square kernel of n[1], and padding.
func (g *graph) convolve(n []int, pad int, shared bool) error {
	s := g.at.shape
	if len(s) != 4 {
		return fmt.Errorf("want 4 dimensions, got %d", len(s))
	}
	w := g.constant(shared, n[0], s[1], n[1], n[1])
	less := n[1] - 1 - 2*pad
	g.add([]int{s[0], n[0], s[2] - less, s[3] - less}, "conv(x = %s, weight = %s, strides = %s, pad_type = "+
		"string(\"custom\"), pad = %s, dilations = %s, groups = int32(1))", g.at.name, w, ints(1, 1),
		ints(pad, pad, pad, pad), ints(1, 1))
	return nil
}

func (g *graph) unary(format string) error {
	g.add(g.at.shape, format, g.at.name)
	return nil
}

func (g *graph) relu([]int, bool) error    { return g.unary("relu(x = %s)") }
func (g *graph) sigmoid([]int, bool) error { return g.unary("sigmoid(x = %s)") }
func (g *graph) gelu([]int, bool) error    { return g.unary("gelu(x = %s, mode = string(\"EXACT\"))") }
func (g *graph) softmax([]int, bool) error { return g.unary("softmax(x = %s, axis = int32(-1))") }

func (g *graph) reduce(name string) value {
	return g.add(g.last(1), name+"(x = %s, axes = %s, keep_dims = bool(true))", g.at.name, ints(-1))
}

func (g *graph) sum([]int, bool) error {
	g.reduce("reduce_sum")
	return nil
}

func (g *graph) layerNorm([]int, bool) error {
	x := g.at
	gamma, beta := g.weight(g.width()), g.weight(g.width())
	g.add(x.shape, "layer_norm(x = %s, axes = %s, gamma = %s, beta = %s, epsilon = fp16(0x1p-16))", x.name, ints(-1),
		gamma, beta)
	return nil
}

// rmsNorm multiplies by the reciprocal root of the mean of squares and by a constant.
func (g *graph) rmsNorm([]int, bool) error {
	x := g.at
	gamma := g.weight(g.width())
	g.add(x.shape, "mul(x = %s, y = %s)", x.name, x.name)
	m := g.reduce("reduce_mean")
	r := g.add(m.shape, "rsqrt(x = %s, epsilon = fp16(0x1p-16))", m.name)
	g.add(x.shape, "mul(x = %s, y = %s)", x.name, r.name)
	g.add(x.shape, "mul(x = %s, y = %s)", g.at.name, gamma)
	return nil
}

func (g *graph) l2Norm([]int, bool) error {
	x := g.at
	n := g.reduce("reduce_l2_norm")
	m := g.add(n.shape, "maximum(x = %s, y = fp16(0x1p-10))", n.name)
	g.add(x.shape, "real_div(x = %s, y = %s)", x.name, m.name)
	return nil
}

// sdpa writes attention of the three inputs.
func (g *graph) sdpa([]int, bool) error {
	if len(g.inputs) != 3 {
		return fmt.Errorf("want three inputs, got %d", len(g.inputs))
	}
	g.attend(g.inputs[0], g.inputs[1], g.inputs[2])
	return nil
}

// attend writes the softmax of the scaled products of q and k, times v.
func (g *graph) attend(q, k, v value) {
	scores := slices.Clone(q.shape)
	scores[len(scores)-1] = k.shape[len(k.shape)-2]
	g.add(scores, "matmul(x = %s, y = %s, transpose_x = bool(false), transpose_y = bool(true))", q.name, k.name)
	scale := 1 / math.Sqrt(float64(q.shape[len(q.shape)-1]))
	g.add(scores, "mul(x = %s, y = fp16(%s))", g.at.name, strconv.FormatFloat(scale, 'x', 10, 32))
	_ = g.unary("softmax(x = %s, axis = int32(-1))")
	g.add(q.shape, "matmul(x = %s, y = %s, transpose_x = bool(false), transpose_y = bool(false))", g.at.name, v.name)
}

// mha writes attention of n[0] heads with four projections and their biases.
func (g *graph) mha(n []int, _ bool) error {
	x := g.at
	rows, width, heads := x.shape[0], g.width(), n[0]
	project := func(from value) value {
		g.at = from
		_ = g.linear([]int{width}, false)
		at := g.at
		b := g.weight(1, width)
		return g.add(at.shape, "add(x = %s, y = %s)", at.name, b)
	}
	split := []int{1, rows, heads, width / heads}
	var parts [3]value
	for i := range parts {
		p := project(x)
		r := g.add(split, "reshape(x = %s, shape = %s)", p.name, ints(split...))
		parts[i] = g.add([]int{1, heads, rows, width / heads}, "transpose(x = %s, perm = %s)", r.name, ints(0, 2, 1, 3))
	}
	g.attend(parts[0], parts[1], parts[2])
	g.add(split, "transpose(x = %s, perm = %s)", g.at.name, ints(0, 2, 1, 3))
	r := g.add(x.shape, "reshape(x = %s, shape = %s)", g.at.name, ints(x.shape...))
	project(r)
	return nil
}

// jacobi writes a step of the method: the second input less the product, times the third.
func (g *graph) jacobi([]int, bool) error {
	if len(g.inputs) != 3 {
		return fmt.Errorf("want three inputs, got %d", len(g.inputs))
	}
	if g.values == 0 {
		g.at = g.inputs[0]
	}
	_ = g.linear([]int{g.width()}, true)
	g.add(g.at.shape, "sub(x = %s, y = %s)", g.inputs[1].name, g.at.name)
	g.add(g.at.shape, "mul(x = %s, y = %s)", g.at.name, g.inputs[2].name)
	return nil
}
