package testmodel

import (
	"fmt"
	"strings"
)

// Decoder is a language model as converters write them: an embedding, layers of attention with a key-value cache in
// states and of a gated product, and the product that scores the vocabulary. Its weights are in a file that is not
// written, so that it has the size of any real model.
type Decoder struct {
	Layers, Width, Hidden int
	Heads, Shared         int // query heads, and the heads of keys and values, which divide them
	Head                  int // width of a head
	Vocabulary            int
	Context               int // positions of the cache
	// Queries are the numbers of tokens of a call, each a function: main if it is the only one.
	Queries []int
}

// Text returns the MIL text of the model.
func (d Decoder) Text() string {
	w := &decoderText{Decoder: d, weights: map[string]int{}}
	w.b.WriteString("program(1.3)\n{\n")
	for i, q := range d.Queries {
		name := "main"
		if len(d.Queries) > 1 {
			name = fmt.Sprintf("tokens_%d", q)
		}
		w.function(name, q, i == 0)
	}
	w.b.WriteString("}\n")
	return w.b.String()
}

// decoderText writes a decoder.
type decoderText struct {
	Decoder
	b       strings.Builder
	weights map[string]int // offsets in the file, which functions share
	end     int            // of the file
	q       int            // tokens of a call
}

func (w *decoderText) function(name string, q int, first bool) {
	w.q = q
	if first {
		w.end = 64
	}
	fmt.Fprintf(&w.b, "\tfunc %s<ios18>(tensor<int32, [1, %d]> ids, tensor<fp16, [1, 1, %d, %d]> cos, "+
		"tensor<fp16, [1, 1, %d, %d]> sin, tensor<fp16, [1, 1, %d, %d]> mask, tensor<int32, [1]> pos", name, q, q,
		w.Head, q, w.Head, q, w.Context)
	for l := range w.Layers {
		for _, n := range []string{"k", "v"} {
			fmt.Fprintf(&w.b, ", state<%s> %s", fp16(1, w.Shared, w.Context, w.Head), w.name(l, n+"_cache"))
		}
	}
	w.b.WriteString(") {\n")
	w.constant("eps", "fp16", "0x1.5p-17")
	w.constant("last", "tensor<int32, [1]>", "[-1]")
	w.constant("yes", "bool", "true")
	w.constant("no", "bool", "false")
	w.constant("swap", "tensor<int32, [4]>", "[0, 2, 1, 3]")
	w.constant("minus", "fp16", "-0x1p+0")
	w.constant("axis_last", "int32", "-1")
	w.constant("zero", "tensor<int32, [1]>", "[0]")
	w.constant("tokens", "tensor<int32, [1]>", fmt.Sprintf("[%d]", q))
	w.constant("one", "tensor<int32, [1]>", "[1]")
	w.constant("kv_heads", "tensor<int32, [1]>", fmt.Sprintf("[%d]", w.Shared))
	w.constant("head_width", "tensor<int32, [1]>", fmt.Sprintf("[%d]", w.Head))
	w.constant("axis", "int32", "0")
	w.weight("embedding", w.Vocabulary, w.Width)
	w.op(fp16(1, q, w.Width), "x0", "gather(x = embedding, indices = ids, axis = axis, batch_dims = axis, "+
		"validate_indices = no)")
	w.op("tensor<int32, [4]>", "from", "concat(values = (zero, zero, pos, zero), axis = axis, interleave = no)")
	w.op("tensor<int32, [1]>", "past", "add(x = pos, y = tokens)")
	w.op("tensor<int32, [4]>", "to", "concat(values = (one, kv_heads, past, head_width), axis = axis, interleave = no)")
	for l := range w.Layers {
		w.layer(l)
	}
	w.norm(fmt.Sprintf("x%d", w.Layers), "final")
	w.weight("scores", w.Vocabulary, w.Width)
	w.op(fp16(1, q, w.Vocabulary), "logits", "linear(x = final, weight = scores)")
	w.b.WriteString("\t} -> (logits);\n")
}

func (w *decoderText) layer(l int) {
	name := func(s string) string { return w.name(l, s) }
	x := fmt.Sprintf("x%d", l)
	w.norm(x, name("h"))
	for _, p := range []struct {
		to    string
		heads int
	}{{"q", w.Heads}, {"k", w.Shared}, {"v", w.Shared}} {
		to := name(p.to)
		w.weight(to+"_weight", p.heads*w.Head, w.Width)
		w.op(fp16(1, w.q, p.heads*w.Head), to+"0", "linear(x = %s, weight = %s_weight)", name("h"), to)
		w.constant(to+"_shape", "tensor<int32, [4]>", fmt.Sprintf("[1, %d, %d, %d]", w.q, p.heads, w.Head))
		w.op(fp16(1, w.q, p.heads, w.Head), to+"1", "reshape(x = %s0, shape = %s_shape)", to, to)
		w.op(fp16(1, p.heads, w.q, w.Head), to+"2", "transpose(x = %s1, perm = swap)", to)
	}
	w.rotate(name("q"), w.Heads)
	w.rotate(name("k"), w.Shared)
	w.cache(name("k"), name("kr"))
	w.cache(name("v"), name("v2"))
	w.op(fp16(1, w.Heads, w.q, w.Head), name("att"), "scaled_dot_product_attention(query = %s, key = %s, value = %s, "+
		"attn_mask = mask)", name("qr"), name("kall"), name("vall"))
	w.op(fp16(1, w.q, w.Heads, w.Head), name("att1"), "transpose(x = %s, perm = swap)", name("att"))
	w.constant(name("att_shape"), "tensor<int32, [3]>", fmt.Sprintf("[1, %d, %d]", w.q, w.Heads*w.Head))
	w.op(fp16(1, w.q, w.Heads*w.Head), name("att2"), "reshape(x = %s, shape = %s)", name("att1"), name("att_shape"))
	w.weight(name("o_weight"), w.Width, w.Heads*w.Head)
	w.op(fp16(1, w.q, w.Width), name("o"), "linear(x = %s, weight = %s)", name("att2"), name("o_weight"))
	w.op(fp16(1, w.q, w.Width), name("mid"), "add(x = %s, y = %s)", x, name("o"))
	w.norm(name("mid"), name("g"))
	w.weight(name("gate_weight"), w.Hidden, w.Width)
	w.weight(name("up_weight"), w.Hidden, w.Width)
	w.weight(name("down_weight"), w.Width, w.Hidden)
	hidden := fp16(1, w.q, w.Hidden)
	w.op(hidden, name("gate"), "linear(x = %s, weight = %s)", name("g"), name("gate_weight"))
	w.op(hidden, name("up"), "linear(x = %s, weight = %s)", name("g"), name("up_weight"))
	w.op(hidden, name("act"), "silu(x = %s)", name("gate"))
	w.op(hidden, name("product"), "mul(x = %s, y = %s)", name("act"), name("up"))
	w.op(fp16(1, w.q, w.Width), name("down"), "linear(x = %s, weight = %s)", name("product"), name("down_weight"))
	w.op(fp16(1, w.q, w.Width), fmt.Sprintf("x%d", l+1), "add(x = %s, y = %s)", name("mid"), name("down"))
}

// norm writes the root-mean-square norm of x.
func (w *decoderText) norm(x, to string) {
	w.weight(to+"_scale", w.Width)
	w.op(fp16(1, w.q, w.Width), to+"_sq", "square(x = %s)", x)
	w.op(fp16(1, w.q, 1), to+"_mean", "reduce_mean(x = %s_sq, axes = last, keep_dims = yes)", to)
	w.op(fp16(1, w.q, 1), to+"_r", "rsqrt(x = %s_mean, epsilon = eps)", to)
	w.op(fp16(1, w.q, w.Width), to+"_n", "mul(x = %s, y = %s_r)", x, to)
	w.op(fp16(1, w.q, w.Width), to, "mul(x = %s_n, y = %s_scale)", to, to)
}

// rotate writes the rotation of the pairs of a head by its position.
func (w *decoderText) rotate(x string, heads int) {
	half, whole := fp16(1, heads, w.q, w.Head/2), fp16(1, heads, w.q, w.Head)
	for _, p := range []struct {
		to       string
		from, up int
	}{{"lo", 0, w.Head / 2}, {"hi", w.Head / 2, w.Head}} {
		to := x + p.to
		w.constant(to+"_begin", "tensor<int32, [4]>", fmt.Sprintf("[0, 0, 0, %d]", p.from))
		w.constant(to+"_end", "tensor<int32, [4]>", fmt.Sprintf("[1, %d, %d, %d]", heads, w.q, p.up))
		w.op(half, to, "slice_by_index(x = %s2, begin = %s_begin, end = %s_end)", x, to, to)
	}
	w.op(half, x+"neg", "mul(x = %shi, y = minus)", x)
	w.op(whole, x+"rot", "concat(values = (%sneg, %slo), axis = axis_last, interleave = no)", x, x)
	w.op(whole, x+"c", "mul(x = %s2, y = cos)", x)
	w.op(whole, x+"s", "mul(x = %srot, y = sin)", x)
	w.op(whole, x+"r", "add(x = %sc, y = %ss)", x, x)
}

// cache writes the update of a state at the position of the call, and its heads once for each query head.
func (w *decoderText) cache(x, update string) {
	state := fp16(1, w.Shared, w.Context, w.Head)
	w.op(state, x+"old", "read_state(input = %s_cache)", x)
	w.op(state, x+"new", "slice_update(x = %sold, update = %s, begin = from, end = to)", x, update)
	fmt.Fprintf(&w.b, "\t\twrite_state(data = %[1]snew, input = %[1]s_cache)[name = string(\"%[1]s_write\")];\n", x)
	w.op(state, x+"now", "read_state(input = %s_cache)", x)
	n := w.Heads / w.Shared
	w.constant(x+"_apart", "tensor<int32, [5]>", fmt.Sprintf("[1, %d, 1, %d, %d]", w.Shared, w.Context, w.Head))
	w.constant(x+"_times", "tensor<int32, [5]>", fmt.Sprintf("[1, 1, %d, 1, 1]", n))
	w.constant(x+"_all", "tensor<int32, [4]>", fmt.Sprintf("[1, %d, %d, %d]", w.Heads, w.Context, w.Head))
	w.op(fp16(1, w.Shared, 1, w.Context, w.Head), x+"apart", "reshape(x = %snow, shape = %s_apart)", x, x)
	w.op(fp16(1, w.Shared, n, w.Context, w.Head), x+"times", "tile(x = %sapart, reps = %s_times)", x, x)
	w.op(fp16(1, w.Heads, w.Context, w.Head), x+"all", "reshape(x = %stimes, shape = %s_all)", x, x)
}

func (w *decoderText) name(layer int, s string) string { return fmt.Sprintf("l%d_%s", layer, s) }

func fp16(shape ...int) string {
	return "tensor<fp16, " + strings.ReplaceAll(fmt.Sprint(shape), " ", ", ") + ">"
}

func (w *decoderText) op(typ, name, format string, args ...any) {
	fmt.Fprintf(&w.b, "\t\t%s %s = %s[name = string(%q)];\n", typ, name, fmt.Sprintf(format, args...), name)
}

func (w *decoderText) constant(name, typ, value string) {
	fmt.Fprintf(&w.b, "\t\t%s %s = const()[name = string(%q), val = %s(%s)];\n", typ, name, name, typ, value)
}

// weight writes a constant in the weight file.
func (w *decoderText) weight(name string, shape ...int) {
	at, ok := w.weights[name]
	if !ok {
		at = w.end
		w.weights[name] = at
		n := 2
		for _, d := range shape {
			n *= d
		}
		w.end += 64 + (n+63)/64*64
	}
	t := fp16(shape...)
	fmt.Fprintf(&w.b, "\t\t%s %s = const()[name = string(%q), val = %s(BLOBFILE(path = "+
		"string(\"@model_path/weights/weight.bin\"), offset = uint64(%d)))];\n", t, name, name, t, at)
}
