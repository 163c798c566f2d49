package compile_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/target"
)

// numbers is a literal of n numbers that no other seed produces; element 1 is 0.5 larger if bumped.
func numbers(n, seed int, bumped bool) string {
	var b strings.Builder
	for i := range n {
		v := float64((i*7+seed*13)%31-15)/16 + float64(seed)/8
		if i == min(1, n-1) && bumped {
			v += 0.5
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%g", v)
	}
	return b.String()
}

// tracedConstants are the constants of tracedModel, by name, with their shapes.
var tracedConstants = []struct {
	name  string
	shape []int
}{
	{"w", []int{12, 8, 1, 3}}, {"b", []int{12}}, {"s", []int{1, 12, 1, 1}},
	{"c1", []int{1, 12, 1, 1}}, {"c2", []int{1, 12, 1, 1}},
	{"shared", []int{1, 12, 1, 14}}, {"half", nil},
	{"mean", []int{12}}, {"variance", []int{12}}, {"gamma", []int{12}}, {"beta", []int{12}},
	{"dw", []int{12, 1, 1, 3}}, {"db", []int{12}},
	{"lw", []int{20, 12}}, {"lb", []int{20}},
	{"lo", nil}, {"hi", nil}, {"g1", []int{20}}, {"g2", []int{20}},
}

// tracedModel has a statement for each path of a constant: through a product, its scale and bias, folding, a batch
// norm, a shared operand, a scalar register, a normalisation; and operations that are fused, removed, or stay on the
// CPU. bump names the constant that is changed.
func tracedModel(bump string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "        "+format+"\n", args...) }
	line(`tensor<int32, [2]> one = const()[val = tensor<int32, [2]>([1, 1])];`)
	line(`tensor<int32, [4]> nopad = const()[val = tensor<int32, [4]>([0, 0, 0, 0])];`)
	line(`tensor<int32, [4]> same = const()[val = tensor<int32, [4]>([0, 0, 1, 1])];`)
	for i, c := range tracedConstants {
		n, dims := 1, []string{}
		for _, d := range c.shape {
			n *= d
			dims = append(dims, fmt.Sprint(d))
		}
		v := numbers(n, i+1, c.name == bump)
		switch c.name {
		case "variance":
			v = strings.ReplaceAll(v, "-", "")
		case "lo":
			v = "-" + v // below hi
		}
		t := "tensor<fp16, [" + strings.Join(dims, ", ") + "]>"
		if c.shape == nil {
			line(`fp16 %s = const()[val = fp16(%s)];`, c.name, v)
			continue
		}
		line(`%s %s = const()[val = %s([%s])];`, t, c.name, t, v)
	}
	line(`tensor<fp16, [1, 12, 1, 14]> y = conv(x = x, weight = w, bias = b, strides = one, dilations = one, pad ` +
		`= nopad, pad_type = "custom", groups = 1);`)
	line(`tensor<fp16, [1, 12, 1, 14]> scaled = mul(x = y, y = s);`)
	line(`tensor<fp16, [1, 12, 1, 14]> r = relu(x = scaled);`)
	line(`tensor<fp16, [1, 12, 1, 1]> sum = add(x = c1, y = c2);`)
	line(`tensor<fp16, [1, 12, 1, 14]> moved = add(x = r, y = sum);`)
	line(`tensor<fp16, [1, 12, 1, 14]> one_user = mul(x = moved, y = shared);`)
	line(`tensor<fp16, [1, 12, 1, 14]> two_user = add(x = one_user, y = shared);`)
	line(`tensor<fp16, [1, 12, 1, 14]> plus = add(x = two_user, y = half);`)
	line(`tensor<fp16, [1, 12, 1, 14]> dwy = conv(x = plus, weight = dw, bias = db, strides = one, dilations = ` +
		`one, pad = same, pad_type = "custom", groups = 12);`)
	line(`tensor<fp16, [1, 12, 1, 14]> bn = batch_norm(x = dwy, mean = mean, variance = variance, gamma = gamma, ` +
		`beta = beta, epsilon = 0.001);`)
	line(`tensor<fp16, [1, 12, 1, 14]> sig = sigmoid(x = bn);`)
	line(`tensor<fp16, [1, 12, 14]> flat = squeeze(x = sig, axes = [2]);`)
	line(`tensor<fp16, [1, 14, 12]> turned = transpose(x = flat, perm = [0, 2, 1]);`)
	line(`tensor<fp16, [1, 14, 20]> lin = linear(x = turned, weight = lw, bias = lb);`)
	line(`tensor<fp16, [1, 14, 20]> cut = clip(x = lin, alpha = lo, beta = hi);`)
	line(`tensor<fp16, [1, 14, 20]> norm = layer_norm(x = cut, axes = [-1], gamma = g1, beta = g2, epsilon = 0.001);`)
	line(`tensor<fp16, [1, 14, 20]> same_norm = identity(x = norm);`)
	line(`tensor<fp16, [1, 14, 20]> fl = sin(x = same_norm);`)
	line(`tensor<fp32, [1, 14, 20]> wide = cast(x = fl, dtype = "fp32");`)
	line(`tensor<fp32, [1, 14, 20]> out = cast(x = same_norm, dtype = "fp32");`)
	return "    func main<ios17>(tensor<fp16, [1, 8, 1, 16]> x) {\n" + b.String() + "    } -> (wide, out);"
}

// lineOf returns the line of a statement of tracedModel in program's text.
func lineOf(t *testing.T, text, name string) int {
	t.Helper()
	for i, l := range strings.Split(text, "\n") {
		if strings.Contains(l, "> "+name+" = ") || strings.Contains(l, "fp16 "+name+" = ") {
			return i + 3 // after the two lines of the program
		}
	}
	t.Fatalf("no statement %s", name)
	return 0
}

// trace compiles MIL functions and reads the database that was written.
func trace(t testing.TB, funcs string, o compile.Options) (*compile.Result, *provenance.DB, *hwx.File) {
	t.Helper()
	o.Provenance, o.VerifyEach = true, true
	r, err := compile.All(context.Background(), program(t, funcs), o)
	if err != nil {
		t.Fatal(err)
	}
	var zdb, file bytes.Buffer
	if err := r.Provenance.Write(&zdb); err != nil {
		t.Fatal(err)
	}
	db, err := provenance.Read(zdb.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.HWX.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	f, err := hwx.Read(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return r, db, f
}

// names returns the names of statements.
func names(db *provenance.DB, list ...[]int) (out []string) {
	for _, l := range list {
		for _, i := range l {
			out = append(out, db.Statements[i].Name)
		}
	}
	return out
}

// TestProvenanceFollowsTheBytes changes one constant of a model at a time and compares the database with what changed:
// each changed byte of the constants came from that statement, and each task with a changed word names it.
func TestProvenanceFollowsTheBytes(t *testing.T) {
	_, db, f := trace(t, tracedModel(""), compile.Options{Target: target.H13})
	text, constants := f.TextBytes(), f.ConstantBytes()
	for _, c := range tracedConstants {
		_, _, g := trace(t, tracedModel(c.name), compile.Options{Target: target.H13})
		text2, constants2 := g.TextBytes(), g.ConstantBytes()
		if len(text) != len(text2) || len(constants) != len(constants2) {
			t.Fatalf("%s: another value makes another layout: %d and %d bytes of tasks, %d and %d of constants", c.name,
				len(text), len(text2), len(constants), len(constants2))
		}
		changed := 0
		for i := range constants {
			if constants[i] == constants2[i] {
				continue
			}
			changed++
			db.Constants(uint64(i), 1, func(h provenance.Hit) bool {
				ok := false
				for _, r := range h.Refs {
					ok = ok || slices.Contains(names(db, db.Source(r).Statements), c.name)
				}
				if !ok || h.What == provenance.RolePadding {
					t.Errorf("%s: byte %#x of the constants is another; it is called %s of %+v", c.name, i, h.What,
						h.Refs)
				}
				return true
			})
		}
		for i := range text {
			if text[i] == text2[i] {
				continue
			}
			changed++
			h := db.Text(uint64(i), 1)[0]
			s := db.Source(h.Refs[0])
			if h.What != provenance.WhatTask || !slices.Contains(names(db, s.Statements, s.With), c.name) {
				t.Errorf("%s: byte %#x of the tasks is another; its task came from %v with %v", c.name, i,
					names(db, s.Statements), names(db, s.With))
			}
		}
		if changed == 0 {
			t.Errorf("%s: another value changes no byte", c.name)
		}
		// Also backwards, from its line.
		m := db.From(db.Line("test.mil", lineOf(t, tracedModel(""), c.name))...)
		if len(m.Tasks) == 0 {
			t.Errorf("%s: its line leads to no task", c.name)
		}
	}
}

// roleSources returns the names that the bytes of a role came from, in the extent that has a statement among its
// sources.
func roleSources(db *provenance.DB, role, statement string) (out []string) {
	for i := range db.Extents {
		x := &db.Extents[i]
		if !slices.Contains(x.Roles(), role) {
			continue
		}
		for _, r := range x.Refs(role) {
			s := db.Source(r)
			if ns := names(db, s.Statements); slices.Contains(ns, statement) {
				slices.Sort(ns)
				out = append(out, fmt.Sprintf("%s for %s by %s: %s", strings.Join(ns, " "),
					strings.Join(names(db, s.Users), " "), strings.Join(s.Passes, " "), s.Rule))
			}
		}
	}
	return out
}

// TestProvenanceOfPasses checks that the results of folding, fusing and sharing have all their statements, passes and
// users, and no others.
func TestProvenanceOfPasses(t *testing.T) {
	text := tracedModel("")
	_, db, _ := trace(t, text, compile.Options{Target: target.H13})
	for _, c := range []struct {
		role, statement string
		want            []string
	}{
		{"values", "w", []string{"s scaled w for y r by fold-scale-bias place fuse-epilogue: convolution"}},
		{"bias", "b", []string{"b s scaled for y r by fold-scale-bias place fuse-epilogue: convolution"}},
		{"values", "shared", []string{"shared for one_user by place: elementwise",
			"shared for two_user by place: elementwise"}},
		{"bias", "c2", []string{"c1 c2 sum for moved by fold-constants place: elementwise"}},
		{"values", "lw", []string{"lw for lin cut by place fuse-epilogue: linear"}},
		{"bias", "lb", []string{"lb for lin cut by place fuse-epilogue: linear"}},
		{"values", "g1", []string{"g1 for norm by place: layer_norm"}},
	} {
		if got := roleSources(db, c.role, c.statement); !slices.Equal(got, c.want) {
			t.Errorf("%s bytes of %s:\n%q, want\n%q", c.role, c.statement, got, c.want)
		}
	}
	// The batch norm folds into the product before it, and so does the table.
	i := db.Line("test.mil", lineOf(t, text, "bn"))
	m := db.From(i...)
	found := false
	for _, k := range m.Tasks {
		s := db.Source(db.Tasks[k].Ref())
		ns := names(db, s.Statements)
		if !slices.Contains(ns, "dwy") || s.Rule != "convolution" {
			continue
		}
		found = true
		if !slices.Contains(ns, "bn") || !slices.Contains(ns, "sig") {
			t.Errorf("the tasks of the depthwise convolution came from %v", ns)
		}
		want := []string{"canonicalise", "fold-scale-bias", "place", "fuse-epilogue"}
		if !slices.Equal(s.Passes, want) {
			t.Errorf("by passes %v, want %v", s.Passes, want)
		}
	}
	if !found {
		t.Error("the line of the batch norm leads to no task of the convolution")
	}
	// A removed statement is reported as removed, with its replacement.
	gone := map[string]string{}
	for _, g := range db.Gone {
		by := names(db, db.Source(provenance.Ref{Node: g.By}).Statements)
		slices.Sort(by)
		for _, n := range names(db, db.Source(provenance.Ref{Node: g.Node}).Statements) {
			gone[n] = g.Pass + " " + strings.Join(by, " ")
		}
	}
	for n, want := range map[string]string{
		"same_norm": "canonicalise norm",
		"sum":       "fold-constants c1 c2 sum",
		"scaled":    "fold-scale-bias ",
	} {
		if gone[n] != want {
			t.Errorf("%s is gone: %q, want %q", n, gone[n], want)
		}
	}
	// An attribute leads to its readers.
	if got := names(db, db.Readers(db.Named("one")[0])); !slices.Equal(got, []string{"y", "dwy"}) {
		t.Errorf("readers of the strides: %v", got)
	}
}

// TestProvenanceOfDescriptor checks that casts, inferences and CPU calls name their statements.
func TestProvenanceOfDescriptor(t *testing.T) {
	_, db, _ := trace(t, tracedModel(""), compile.Options{Target: target.H13})
	var got []string
	for i := range db.Operations {
		o := &db.Operations[i]
		ns := names(db, db.Source(o.Ref()).Statements)
		if len(ns) > 4 {
			ns = append(ns[:2], "...", ns[len(ns)-1])
		}
		got = append(got, fmt.Sprintf("%s %s: %s", o.Kind, o.Rule, strings.Join(ns, " ")))
	}
	want := []string{
		"Cast surface-input: x",
		"AneInference inference: mean variance ... norm",
		"Cast surface-output: norm",
		"Cast transfer: out",
		"CpuInference cpu-call: fl wide",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("operations\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestProvenanceOfControlFlow checks that the tasks of an unrolled loop name the statement in the body and the loop,
// that operations of a remaining branch are part of its call, and that the buffer of a state names what reads and
// writes it.
func TestProvenanceOfControlFlow(t *testing.T) {
	_, db, _ := trace(t, `    func main<ios18>(state<tensor<fp16, [1, 4, 1, 8]>> kv, tensor<fp16, [1, 4, 1, 8]> x,`+
		` tensor<bool, [1]> p) {
        tensor<fp16, [1, 4, 1, 8]> old = read_state(input = kv);
        tensor<int32, [1]> zero = const()[val = tensor<int32, [1]>([0])];
        tensor<fp16, [1, 4, 1, 8]> start = mul(x = x, y = old);
        tensor<int32, [1]> n, tensor<fp16, [1, 4, 1, 8]> v = while_loop(loop_vars = (zero, start)) (tensor<int32, `+
		`[1]> i, tensor<fp16, [1, 4, 1, 8]> a) {
            tensor<bool, [1]> more = less(x = i, y = int32(3));
        } -> (more) (tensor<int32, [1]> j, tensor<fp16, [1, 4, 1, 8]> c) {
            tensor<int32, [1]> k = add(x = j, y = int32(1));
            tensor<fp16, [1, 4, 1, 8]> d = relu(x = c);
        } -> (k, d);
        tensor<fp16, [1, 4, 1, 8]> chosen = cond(pred = p) () {
            tensor<fp16, [1, 4, 1, 8]> f = sin(x = v);
        } -> (f) () {
            tensor<fp16, [1, 4, 1, 8]> g = cos(x = v);
        } -> (g);
        write_state(input = kv, data = v);
    } -> (chosen);`, compile.Options{Target: target.H13})
	loop := false
	for i := range db.Tasks {
		s := db.Source(db.Tasks[i].Ref())
		ns := names(db, s.Statements)
		if slices.Contains(ns, "d") {
			loop = slices.Contains(ns, "n") && slices.Contains(s.Passes, "fold-constants")
		}
	}
	if !loop {
		t.Error("no task of the loop's body names body and loop")
	}
	call, state := "", ""
	for i := range db.Operations {
		o := &db.Operations[i]
		ns := strings.Join(names(db, db.Source(o.Ref()).Statements), " ")
		switch o.Rule {
		case compile.RuleCall:
			call += ns
		case compile.RuleOutput:
			for _, k := range db.Source(o.Ref()).Statements {
				state += db.Statements[k].Op + " "
			}
		}
	}
	for _, n := range []string{"chosen", "f", "g"} {
		if !slices.Contains(strings.Fields(call), n) {
			t.Errorf("the CPU call came from %q, without %s", call, n)
		}
	}
	if !strings.Contains(state, "write_state") || !strings.Contains(state, "relu") {
		t.Errorf("what goes into the state's buffer came from %q", state)
	}
	if m := db.From(db.Named("kv")...); len(m.Operations) == 0 {
		t.Error("the state leads to no operation of the descriptor")
	}
}

// TestProvenanceIsDeterministic checks that the file is the same for any number of workers, and that the pair is the
// same without a database.
func TestProvenanceIsDeterministic(t *testing.T) {
	var first []byte
	for _, workers := range []int{1, 4} {
		r, _, _ := trace(t, tracedModel(""), compile.Options{Target: target.H13, Workers: workers})
		var b bytes.Buffer
		if err := r.Provenance.Write(&b); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b.Bytes()
		}
		if !bytes.Equal(first, b.Bytes()) {
			t.Errorf("%d workers make another file", workers)
		}
		var with, without bytes.Buffer
		if _, err := r.HWX.WriteTo(&with); err != nil {
			t.Fatal(err)
		}
		plain, err := compile.All(context.Background(), program(t, tracedModel("")),
			compile.Options{Target: target.H13, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plain.HWX.WriteTo(&without); err != nil {
			t.Fatal(err)
		}
		if plain.Provenance != nil || !bytes.Equal(with.Bytes(), without.Bytes()) {
			t.Error("the container is another one without a database")
		}
	}
}

// asWritten checks that every byte of a container has an answer with statements
// and a rule.
func asWritten(t *testing.T, db *provenance.DB, f *hwx.File) {
	t.Helper()
	check := func(h provenance.Hit) bool {
		if h.What == provenance.RolePadding {
			return true
		}
		for _, r := range h.Refs {
			if s := db.Source(r); len(s.Statements) == 0 || s.Rule == "" || len(s.Passes) == 0 {
				t.Fatalf("%d bytes of %s at %#x came from %+v", h.Size, h.What, h.Offset, s)
			}
		}
		if len(h.Refs) == 0 {
			t.Fatalf("%d bytes of %s at %#x came from nothing", h.Size, h.What, h.Offset)
		}
		return true
	}
	for _, h := range db.Text(0, uint64(len(f.TextBytes()))) {
		check(h)
	}
	db.Constants(0, uint64(len(f.ConstantBytes())), check)
}

// TestProvenanceOfForms checks full tasks, several functions that share a constant, and constants in separate sections.
func TestProvenanceOfForms(t *testing.T) {
	two := tracedModel("") + "\n" + strings.Replace(tracedModel(""), "func main", "func second", 1)
	for _, o := range []compile.Options{{FullTD: true}, {SplitKernel: true}, {FullTD: true, SplitKernel: true,
		Precision: "fp16"}} {
		o.Target = target.H13
		_, db, f := trace(t, two, o)
		asWritten(t, db, f)
		// Both functions are users of the one stored weight, each with its own line.
		seen := map[string]bool{}
		for i := range db.Extents {
			for _, r := range db.Extents[i].Refs("values") {
				s := db.Source(r)
				if slices.Contains(names(db, s.Statements), "lw") {
					seen[db.Statements[s.Statements[0]].Func] = true
				}
			}
		}
		if !seen["main"] || !seen["second"] {
			t.Errorf("%+v: the weight is known in functions %v", o, seen)
		}
	}
}

// TestProvenanceIsLinear checks that a chain of folded constants, each computed from the one before, has nodes in
// proportion to its length, and that its end still names its beginning.
func TestProvenanceIsLinear(t *testing.T) {
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString("    func main<ios17>(tensor<fp16, [1, 4, 1, 8]> x) {\n        tensor<fp16, [1, 4, 1, 1]> k0 " +
			"= const()[val = tensor<fp16, [1, 4, 1, 1]>([1, 2, 3, 4])];\n")
		for i := range n {
			fmt.Fprintf(&b, "        tensor<fp16, [1, 4, 1, 1]> k%d = add(x = k%d, y = k0);\n", i+1, i)
		}
		fmt.Fprintf(&b, "        tensor<fp16, [1, 4, 1, 8]> y = add(x = x, y = k%d);\n    } -> (y);", n)
		return b.String()
	}
	var nodes []int
	for _, n := range []int{1000, 2000} {
		_, db, f := trace(t, chain(n), compile.Options{Target: target.H13})
		asWritten(t, db, f)
		nodes = append(nodes, len(db.Nodes))
		edges := 0
		for _, x := range db.Nodes {
			edges += len(x.From)
		}
		if edges > 8*n {
			t.Errorf("%d statements: %d nodes with %d references", n, len(db.Nodes), edges)
		}
		s := db.Source(db.Extents[0].Refs("bias")[0])
		if len(s.Statements) != n+1 {
			t.Errorf("the constant came from %d statements, want %d", len(s.Statements), n+1)
		}
		if m := db.From(db.Named("k1")...); len(m.Extents) != 1 || len(m.Tasks) == 0 {
			t.Errorf("the chain's beginning leads to %+v", m)
		}
	}
	if nodes[1] > 2*nodes[0] {
		t.Errorf("%d nodes for half the program, %d for the whole", nodes[0], nodes[1])
	}
}
