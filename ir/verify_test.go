package ir

import (
	"bytes"
	"strings"
	"testing"
)

func parse(t *testing.T, src string) *Program {
	t.Helper()
	p, err := Parse("t", []byte(src), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const chain = `program "1.0"
file "m.mil"

func %main "ios16"(%x: tensor<fp16, [2, 3]>) {
  const %c: tensor<fp16, [3]> = [0x1p+00, 0x1p+01, 0x1.8p+01]
  %a: tensor<fp16, [2, 3]> = add(x = %x, y = %c) @0:4:9
  %r: tensor<fp16, [2, 3]> = relu(x = %a) @0:5:9
  %s: tensor<fp16, [2, 3]> = mul(x = %r, y = %r) @0:6:9
  return %s
}
`

func TestVerifyReportsInvalidPrograms(t *testing.T) {
	if err := Verify(parse(t, chain)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		damage func(f *Func)
		want   string
	}{
		{"order", func(f *Func) {
			f.Body.Ops[0], f.Body.Ops[1] = f.Body.Ops[1], f.Body.Ops[0]
		}, "m.mil:5:9: relu: x: a is used before it is defined"},
		{"type", func(f *Func) {
			f.Body.Ops[1].Results[0].Type = TensorOf(FP16, 2, 4)
		}, "r is declared tensor<fp16, [2, 4]>, but the operation returns tensor<fp16, [2, 3]>"},
		{"twice", func(f *Func) { f.Body.Ops[1].Results[0].Name = "a" }, "a is defined twice"},
		{"missing", func(f *Func) { f.Body.Ops[0].SetArg("y") }, "m.mil:4:9: add: argument y is missing"},
		{"nil", func(f *Func) { f.Body.Ops[0].SetArg("y", nil) }, "y is nil"},
		{"class", func(f *Func) { f.Body.Ops[0].SetArg("y", str("no")) }, "y is string, must be one of"},
		{"results", func(f *Func) { f.Body.Ops[1].Results = nil }, "relu has 1 results, but 0 are named"},
		{"output", func(f *Func) { f.Body.Outputs[0] = fp(2) }, "output 0: v is used before it is defined"},
		{"bytes", func(f *Func) {
			f.Body.Ops[0].Arg("y").Const = &Const{Type: TensorOf(FP16, 3), Data: []byte{1}}
		}, "which needs 6 bytes, but has 1"},
		{"const", func(f *Func) {
			op := NewOp(Lookup("softmax", ""))
			axis := val(Scalar(Int32))
			f.Body.Params = append(f.Body.Params, axis)
			op.SetArg("x", f.Body.Params[0])
			op.SetArg("axis", axis)
			op.Results = []*Value{{Name: "z", Type: TensorOf(FP16, 2, 3), Def: op}}
			f.Body.Ops = append(f.Body.Ops, op)
		}, "axis must be known at compile time"},
	} {
		p := parse(t, chain)
		c.damage(p.Funcs[0])
		err := Verify(p)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
}

func TestExtractedFunctionsAreValid(t *testing.T) {
	p := parse(t, chain)
	f := p.Funcs[0]
	ops := f.Body.Ops
	fn, in, out := Extract(f, "seg", ops[1:2])
	if len(in) != 1 || in[0] != ops[0].Results[0] || len(out) != 1 || out[0] != ops[1].Results[0] {
		t.Fatal(in, out)
	}
	first, _, made := Extract(f, "head", ops[:1])
	if len(made) != 1 || first.Body.Ops[0].Arg("y").Const != ops[0].Arg("y").Const {
		t.Error("constants are shared")
	}
	if err := Verify(&Program{Funcs: []*Func{fn, first, CloneFunc(f, "copy"), f}}); err != nil {
		t.Error(err)
	}
	if us := Uses(f).Get(ops[1].Results[0]); len(us) != 1 || us[0] != ops[2] {
		t.Error(us)
	}
	clone := CloneFunc(f, "main")
	var r Rewriter
	r.Replace(ops[1].Results[0], ops[0].Results[0])
	r.Replace(ops[0].Results[0], f.Body.Params[0])
	r.Apply(f)
	if ops[2].Arg("y") != f.Body.Params[0] {
		t.Error("a chain of replacements is followed")
	}
	if !Equal(&Program{Version: "1.0", Files: p.Files, Funcs: []*Func{clone}}, parse(t, chain)) {
		t.Error("a clone does not change with its original")
	}
	if Equal(p, parse(t, chain)) {
		t.Error("rewritten program equals its original")
	}
}

func TestLargeConstantsUseDataSection(t *testing.T) {
	w := make([]byte, 2*16*16)
	for i := range w {
		w[i] = byte(i)
	}
	p := parse(t, chain)
	op := p.Funcs[0].Body.Ops[2]
	big := &Value{Name: "big", Type: TensorOf(FP16, 16, 16), Const: &Const{Type: TensorOf(FP16, 16, 16), Data: w}}
	op.SetArg("y", big)
	nan := &Value{
		Name:  "odd name",
		Type:  TensorOf(FP16, 2),
		Const: &Const{Type: TensorOf(FP16, 2), Data: []byte{0x01, 0x7e, 0x01, 0xfc}},
	}
	p.Funcs[0].Body.Ops[0].SetArg("y", nan)
	four := &Value{Name: "i4", Type: TensorOf(Int4, 3), Const: &Const{Type: TensorOf(Int4, 3), Data: []byte{0x21, 3}}}
	p.Funcs[0].Body.Ops[1].SetArg("x", four)
	var b bytes.Buffer
	var d Data
	if err := PrintTo(&b, p, &d); err != nil {
		t.Fatal(err)
	}
	if d.Size() != 512 || &d.Parts[0][0] != &w[0] {
		t.Error("the data section copies")
	}
	q, err := Parse("t", b.Bytes(), d.Bytes())
	if err != nil || !Equal(p, q) {
		t.Errorf("%v\n%s", err, b.String())
	}
	if _, err := Parse("t", b.Bytes(), d.Bytes()[:511]); err == nil || !strings.Contains(err.Error(),
		"outside the data section of 511 bytes") {
		t.Error(err)
	}
	b.Reset()
	if err := Print(&b, p); err != nil {
		t.Fatal(err)
	}
	if q, err := Parse("t", b.Bytes(), nil); err != nil || !Equal(p, q) {
		t.Errorf("%v\n%s", err, b.String())
	}
}

const nested = `program "1.3"

func %main "ios17"(%p: tensor<bool, []>, %x: tensor<int32, []>) {
  const %one: tensor<int32, []> = [1]
  %y: tensor<int32, []> = cond(pred = %p) block () {
    %t: tensor<int32, []> = add(x = %x, y = %one)
    return %t
  } block () {
    return %x
  }
  %z: tensor<int32, []> = while_loop(loop_vars = %y) block (%i: tensor<int32, []>) {
    %c: tensor<bool, []> = less(x = %i, y = %one)
    return %c
  } block (%j: tensor<int32, []>) {
    %n: tensor<int32, []> = add(x = %j, y = %one)
    return %n
  }
  return %z
}
`

func TestNestedBlocksRoundTrip(t *testing.T) {
	p := parse(t, nested)
	if err := Verify(p); err != nil {
		t.Error(err)
	}
	var b bytes.Buffer
	if err := Print(&b, p); err != nil || b.String() != nested {
		t.Errorf("%v\n%s", err, b.String())
	}
	f := p.Funcs[0]
	f.Body.Outputs[0] = f.Body.Ops[0].Blocks[0].Ops[0].Results[0]
	if err := Verify(p); err == nil || !strings.Contains(err.Error(), "outside its block") {
		t.Error(err)
	}
}

func TestParseReportsErrorPositions(t *testing.T) {
	head := "program \"1.0\"\nfunc %f \"ios16\"(%x: tensor<fp16, [2]>) {\n"
	for _, c := range []struct{ src, want string }{
		{"", "unexpected token"},
		{head + "%y: tensor<fp16, [2]> = relv(x = %x) return %y }",
			"t:3:1: unknown operation relv<>; did you mean relu?"},
		{head + "%y: tensor<fp16, [2]> = relu(x = %q) return %y }", "t:3:34: %q is not defined"},
		{head + "%y: tensor<fp16, [2]> = relu(x %x) return %y }", `t:3:32: unexpected token "x" (expected "="`},
		{head + "%x: tensor<fp16, [2]> = relu(x = %x) return %x }", "defined twice"},
		{head + "const %c: tensor<fp16, [1000000000]> = [1] return %c }", "has 1000000000 elements, got 1"},
		{head + "const %c: tensor<fp16, [2]> = hex \"00\" return %c }", "needs 4 bytes, has 1"},
		{head + "const %c: tensor<int8, []> = [300] return %c }", "300 does not fit int8"},
		{head + "const %c: tensor<int8, []> = blob(9223372036854775807, 1) return %c }", "outside the data section"},
		{strings.Repeat("[", 500), "t:1:129: brackets are nested deeper than the limit of 128"},
		{head + "const %c: tensor<fp99, []> = [1] return %c }", "unknown element type fp99"},
	} {
		_, err := Parse("t", []byte(c.src), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v\nwant %s", c.src, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(chain))
	f.Add([]byte(nested))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := Parse("fuzz", src, nil)
		if err != nil {
			return
		}
		if Verify(p) == nil { // rules and folds must accept every program that parses
			for _, fn := range p.Funcs {
				Walk(fn, func(op *Op) { FoldOp(op) })
			}
		}
		var b bytes.Buffer
		if err := Print(&b, p); err != nil {
			t.Fatal(err)
		}
		q, err := Parse("again", b.Bytes(), nil)
		if err != nil || !Equal(p, q) {
			t.Fatalf("%v\n%s", err, b.String())
		}
	})
}
