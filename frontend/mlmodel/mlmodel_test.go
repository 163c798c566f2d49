package mlmodel

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
)

// TestConstantsOfEveryFormAreDecoded has every element type.
func TestConstantsOfEveryFormAreDecoded(t *testing.T) {
	minus := uint64(math.MaxUint64) // -1 as a varint
	cat := func(bs ...[]byte) []byte { return bytes.Join(bs, nil) }
	for _, c := range []struct {
		name  string
		typ   []part
		value []part
		want  string
	}{
		{name: "fp32", typ: tensor(11, 2), value: immediate(tensor(11, 2),
			sub(1, raw(1, cat(f32(1.5), f32(float32(math.Inf(-1))))))), want: "tensor<fp32, [2]>([0x1.8p+0, -inf])"},
		{name: "fp32 one by one", typ: tensor(11, 2), value: immediate(tensor(11, 2),
			sub(1, part(cat([]byte{0x0d}, f32(1), []byte{0x0d}, f32(2))))),
			want: "tensor<fp32, [2]>([0x1p+0, 0x1p+1])"},
		{name: "fp64", typ: tensor(12), value: immediate(tensor(12), sub(6, raw(1, f64(0.1)))),
			want: "tensor<fp64, []>(0x1.999999999999ap-4)"},
		{name: "fp16 bytes", typ: tensor(10, 2), value: immediate(tensor(10, 2), sub(7, raw(1, []byte{0, 0x3c, 1, 0}))),
			want: "tensor<fp16, [2]>([0x1p+0, 0x1p-24])"},
		{name: "bf16 bytes", typ: tensor(13), value: immediate(tensor(13), sub(7, raw(1, []byte{0x80, 0x3f}))),
			want: "tensor<bf16, []>(0x1p+0)"},
		{name: "int32", typ: tensor(23, 2, 1), value: immediate(tensor(23, 2, 1), sub(2, packed(1, 7, minus))),
			want: "tensor<int32, [2, 1]>([[7], [-1]])"},
		{name: "int64", typ: tensor(24), value: immediate(tensor(24), sub(5, packed(1, minus))),
			want: "tensor<int64, []>(-1)"},
		{name: "uint64", typ: tensor(34), value: immediate(tensor(34), sub(5, packed(1, minus))),
			want: "tensor<uint64, []>(18446744073709551615)"},
		{name: "uint32", typ: tensor(33), value: immediate(tensor(33), sub(2, packed(1, minus))),
			want: "tensor<uint32, []>(4294967295)"},
		{name: "int8 bytes", typ: tensor(21, 2), value: immediate(tensor(21, 2), sub(7, raw(1, []byte{255, 1}))),
			want: "tensor<int8, [2]>([-1, 1])"},
		{name: "uint8 bytes", typ: tensor(31, 2), value: immediate(tensor(31, 2), sub(7, raw(1, []byte{255, 1}))),
			want: "tensor<uint8, [2]>([255, 1])"},
		{name: "int16 ints", typ: tensor(22, 1), value: immediate(tensor(22, 1), sub(2, packed(1, minus))),
			want: "tensor<int16, [1]>([-1])"},
		{name: "int4 packed", typ: tensor(25, 3), value: immediate(tensor(25, 3), sub(7, raw(1, []byte{0x2f, 0x01}))),
			want: "tensor<int4, [3]>([-1, 2, 1])"},
		{name: "int4 in bytes", typ: tensor(25, 3), value: immediate(tensor(25, 3), sub(7, raw(1, []byte{255, 2, 1}))),
			want: "tensor<int4, [3]>([-1, 2, 1])"},
		{name: "uint3 packed", typ: tensor(39, 3), value: immediate(tensor(39, 3),
			sub(7, raw(1, []byte{0b11_010_001, 0b1}))), want: "tensor<uint3, [3]>([1, 2, 7])"},
		{name: "many dimensions", typ: tensor(23, 2, 1, 1, 1, 1, 1, 1, 1, 1),
			value: immediate(tensor(23, 2, 1, 1, 1, 1, 1, 1, 1, 1), sub(2, packed(1, 3, 4))),
			want:  "tensor<int32, [2, 1, 1, 1, 1, 1, 1, 1, 1]>([3, 4])"},
		{name: "bool", typ: tensor(1, 2), value: immediate(tensor(1, 2), sub(3, packed(1, 1, 0))),
			want: "tensor<bool, [2]>([true, false])"},
		{name: "string", typ: tensor(2), value: text("a\"\n"), want: `tensor<string, []>("a\"\n")`},
		{name: "empty", typ: tensor(23, 0, 5), value: immediate(tensor(23, 0, 5), sub(2)),
			want: "tensor<int32, [0, 5]>([])"},
		{name: "empty without values", typ: tensor(23, 0), value: []part{sub(2, tensor(23, 0)...), sub(3, sub(1))},
			want: "tensor<int32, [0]>([])"},
		{name: "blob", typ: tensor(10, 9, 9), value: []part{sub(2, tensor(10, 9, 9)...),
			sub(5, str(1, "@model_path/w.bin"), num(2, 64))},
			want: `tensor<fp16, [9, 9]>(BLOBFILE(path = tensor<string, []>("@model_path/w.bin"), offset = ` +
				`tensor<uint64, []>(64)))`},
		{name: "list", typ: []part{sub(2, sub(1, tensor(2)...), sub(2, sub(1, num(1, 2))))},
			value: []part{sub(2, sub(2, sub(1, tensor(2)...), sub(2, sub(1, num(1, 2))))),
				sub(3, sub(3, sub(1, text("a")...), sub(1, text("b")...)))},
			want: `list<tensor<string, []>, 2>(["a", "b"])`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := decodeText(t, withConst(c.typ, c.value))
			if want := "val = " + c.want + "]"; !strings.Contains(got, want) {
				t.Errorf("no %s in\n%s", want, got)
			}
		})
	}
}

// TestRareFormsOfProgramsAreDecoded decodes what the corpus lacks: several functions, nested blocks, literal arguments,
// tuples, states, unknown dimensions.
func TestRareFormsOfProgramsAreDecoded(t *testing.T) {
	x := tensor(11, -1, 3)
	state := []part{sub(5, sub(1, tensor(10, 4)...))}
	block := func(name string, parts ...part) part {
		return sub(4, append(parts, str(2, name))...)
	}
	b := spec(nil,
		function("second", "CoreML8", []part{named(1, "x", x), named(1, "k", state), named(1, "a", tensor(1))},
			str(2, "y"),
			sub(3, str(1, "cond"), ref("pred", "a"), named(3, "y", x),
				block("t", sub(3, str(1, "relu"), ref("x", "x"), named(3, "t", x))),
				block("x")),
			sub(3, str(1, "while_loop"), ref("loop_vars", "x", "y"), named(3, "p", x), named(3, "q", x),
				block("c", named(1, "u", x)), block("u", named(1, "u", x))),
			sub(3, str(1, "gelu"), ref("x", "x"), entry(2, "mode", sub(1, sub(2, text("EXACT")...))), named(3, "z", x)),
		),
		function("first", "CoreML5", nil, str(2, "o")),
		entry(4, "buildInfo",
			sub(2, sub(4, sub(1, tensor(2)...), sub(2, tensor(2)...))),
			sub(3, sub(4, sub(1, sub(1, text("z")...), sub(2, text("1")...)), sub(1, sub(1, text("a")...),
				sub(2, text("2")...))))),
	)
	const want = `program(1.3)
[buildInfo = dict<string, string>({{"a", "2"}, {"z", "1"}})]
{
    func first<ios15>() {
        } -> (o);
    func second<ios18>(bool a, state<tensor<fp16, [4]>> k, tensor<fp32, [?, 3]> x) {
            tensor<fp32, [?, 3]> y = cond(pred = a) () {
                    tensor<fp32, [?, 3]> t = relu(x = x);
                } -> (t)
            () {
                } -> (x);
            tensor<fp32, [?, 3]> p, tensor<fp32, [?, 3]> q = while_loop(loop_vars = (x, y)) (tensor<fp32, [?, 3]> u) {
                } -> (c)
            (tensor<fp32, [?, 3]> u) {
                } -> (u);
            tensor<fp32, [?, 3]> z = gelu(mode = string("EXACT"), x = x);
        } -> (y);
}
`
	if got := decodeText(t, b); got != want {
		t.Errorf("text is\n%s\nwant\n%s", got, want)
	}
	m, err := decode(b)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	if got := decodeText(t, again); got != want {
		t.Errorf("text is, after it was written,\n%s\nwant\n%s", got, want)
	}
}

// array is a feature of an array type, in field n.
func array(n protowire.Number, name string, fields ...part) part {
	return sub(n, str(1, name), sub(3, sub(5, fields...)))
}

// TestFlexibleShapesReachTheFunction checks the shapes of the description.
func TestFlexibleShapesReachTheFunction(t *testing.T) {
	size := func(low, high uint64) part { return sub(1, num(1, low), num(2, high)) }
	shapes := func(ss ...[]uint64) part {
		var ps []part
		for _, s := range ss {
			ps = append(ps, sub(1, packed(1, s...)))
		}
		return sub(21, ps...)
	}
	open := tensor(11, -1, 3)
	fn := func(inputs ...part) part {
		return function("main", "CoreML7", inputs, str(2, "x"))
	}
	for _, c := range []struct {
		name string
		desc []part
		fn   part
		want string
	}{
		{name: "range", desc: []part{array(1, "x", packed(1, 2, 3), num(2, 65568), sub(31, size(1, 8), size(3, 3)))},
			fn:   fn(named(1, "x", open)),
			want: `((("DefaultShapes", {{"x", [2, 3]}}), ("RangeDims", {{"x", [[1, 8], [3, 3]]}})))`},
		{name: "no upper bound, no default", desc: []part{array(1, "x", num(2, 65568), sub(31, size(1, math.MaxUint64),
			size(3, 3)))}, fn: fn(named(1, "x", open)),
			want: `((("DefaultShapes", {{"x", [1, 3]}}), ("RangeDims", {{"x", [[1, -1], [3, 3]]}})))`},
		{name: "fixed by the description", desc: []part{array(1, "x", packed(1, 2, 3), num(2, 65568))},
			fn:   fn(named(1, "x", open)),
			want: `((("DefaultShapes", {{"x", [2, 3]}}), ("RangeDims", {{"x", [[2, 2], [3, 3]]}})))`},
		{name: "enumerated", desc: []part{array(1, "x", packed(1, 4, 3), num(2, 65568),
			shapes([]uint64{2, 3}, []uint64{4, 3}))}, fn: fn(named(1, "x", open)),
			want: `((("DefaultShapes", {{"x", [4, 3]}}), ("EnumeratedShapes", {{"0", {{"x", [2, 3]}}}, {"1", ` +
				`{{"x", [4, 3]}}}})))`},
		{name: "fixed", desc: []part{array(1, "x", packed(1, 2, 3), num(2, 65568))},
			fn: fn(named(1, "x", tensor(11, 2, 3)))},
		{name: "image", desc: []part{sub(1, str(1, "x"), sub(3, sub(4, num(1, 20), num(2, 10), num(3, 20),
			sub(31, sub(1, num(1, 20), num(2, 40)), sub(2, num(1, 10), num(2, 30))))))},
			fn: fn(named(1, "x", tensor(11, 1, 3, -1, -1))),
			want: `((("DefaultShapes", {{"x", [1, 3, 10, 20]}}), ("RangeDims", {{"x", [[1, 1], [3, 3], [10, 30], ` +
				`[20, 40]]}})))`},
		{name: "of the function", desc: []part{sub(20, str(1, "main"), array(2, "x", packed(1, 2, 3), num(2, 65568)))},
			fn:   fn(named(1, "x", open)),
			want: `((("DefaultShapes", {{"x", [2, 3]}}), ("RangeDims", {{"x", [[2, 2], [3, 3]]}})))`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := decodeText(t, spec(c.desc, c.fn))
			switch {
			case c.want == "" && strings.Contains(got, unbuild.FlexAttr):
				t.Errorf("a fixed shape has shape information:\n%s", got)
			case !strings.Contains(got, c.want):
				t.Errorf("no %s in\n%s", c.want, got)
			}
		})
	}
}

// TestOtherFormsOfModelsAreNamed decodes every form of model that is not an ML program.
func TestOtherFormsOfModelsAreNamed(t *testing.T) {
	for n, form := range modelForms {
		if form == ProgramForm || strings.HasPrefix(form, "pipeline") {
			continue
		}
		// The contents of the model are not read.
		m, err := decode(msg(num(1, 1), raw(2, nil), raw(protowire.Number(n), []byte{0xff, 0xff, 0xff})))
		if err != nil || m.Program != nil || m.Metadata.Form != form || m.Metadata.SpecificationVersion != 1 {
			t.Errorf("field %d: %+v, %v, want %s", n, m, err, form)
		}
	}
}

// TestPipelines decodes pipelines. A pipeline with one ML program has the same program as the ML program alone.
func TestPipelines(t *testing.T) {
	program := raw(1, simple())
	detection := sub(1, num(1, 1), raw(610, nil)) // nonMaximumSuppression
	alone := decodeText(t, simple())
	for _, c := range []struct {
		name     string
		model    part
		forms    string
		programs int
	}{
		{name: "detector", model: sub(pipelineField, program, detection, str(2, "a name")),
			forms: "mlProgram nonMaximumSuppression", programs: 1},
		{name: "classifier", model: sub(pipelineClassifierField, sub(1, detection, program)),
			forms: "nonMaximumSuppression mlProgram", programs: 1},
		{name: "regressor", model: sub(pipelineRegressorField, sub(1, program)), forms: "mlProgram", programs: 1},
		{name: "inner", model: sub(pipelineField, sub(1, sub(pipelineField, program)), detection),
			forms: "pipeline nonMaximumSuppression", programs: 1},
		{name: "two programs", model: sub(pipelineField, program, program), forms: "mlProgram mlProgram", programs: 2},
		{name: "none", model: sub(pipelineField, detection), forms: "nonMaximumSuppression"},
		{name: "empty", model: sub(pipelineField)},
	} {
		b := msg(num(1, 9), sub(2, sub(100, str(3, "author"))), c.model)
		m, err := decode(b)
		if err != nil || strings.Join(m.Pipeline, " ") != c.forms || (m.Program != nil) != (c.programs == 1) ||
			m.Metadata.Author != "author" || m.Metadata.SpecificationVersion != 9 {
			t.Errorf("%s: %+v, %v", c.name, m, err)
			continue
		}
		if m.Program != nil && decodeText(t, b) != alone {
			t.Errorf("%s: the program is not that of the model alone", c.name)
		}
	}
	for name, c := range map[string]struct {
		model part
		want  string
	}{
		"cut":    {raw(pipelineField, []byte{0x0a, 5, 1}), "pipeline.models[0]: the field has 5 bytes, but 1 are left"},
		"no tag": {raw(pipelineField, []byte{0xff, 0xff, 0xff}), "pipeline: no field begins here"},
		"broken": {sub(pipelineField, detection, sub(1, sub(programField, num(1, 7)))),
			"pipeline.models[1].mlProgram.version: unknown program version 7"},
		"no model": {sub(pipelineField, sub(1, num(1, 1))), "pipeline.models[0]: the specification lacks a model"},
		"deep":     {raw(pipelineField, wrap(10_000, nil, nil, 1, pipelineField)), "messages nest deeper than"},
	} {
		if _, err := decode(msg(num(1, 9), c.model)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestOrderOfMapEntriesDoesNotMatter also compares the text.
func TestOrderOfMapEntriesDoesNotMatter(t *testing.T) {
	x := tensor(11, 2)
	op := func(args ...part) part {
		return sub(3, append(args, str(1, "add"), named(3, "y", x))...)
	}
	a := spec(nil, function("main", "CoreML7", []part{named(1, "x", x), named(1, "b", x)}, str(2, "y"),
		op(ref("x", "x"), ref("y", "b"))))
	b := spec(nil, function("main", "CoreML7", []part{named(1, "b", x), named(1, "x", x)},
		op(ref("y", "b"), ref("x", "x")), str(2, "y")))
	if s, u := decodeText(t, a), decodeText(t, b); s != u {
		t.Errorf("%s\nand\n%s", s, u)
	}
}

// TestOpsetsAndTypesAreThoseOfTheTables compares with the tables of other packages.
func TestOpsetsAndTypesAreThoseOfTheTables(t *testing.T) {
	for name, want := range opsets {
		m, err := decode(spec(nil, function("main", name, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if f := m.Program.Func("main"); f == nil || f.Opset != want {
			t.Errorf("%s is %v, want %s", name, f, want)
		}
	}
	for n, elem := range dataTypes {
		if _, ok := mil.Scalars[elem]; !ok {
			t.Errorf("element type %d is %s, which MIL text lacks", n, elem)
		}
	}
}

// TestAcceptedNamesAreValidInText checks that every accepted name can be parsed in MIL text.
func TestAcceptedNamesAreValidInText(t *testing.T) {
	x := tensor(11, 2)
	for _, name := range []string{"a", "_", "a@1", "a.b/c", "x0", "inf", "nan", "true", "e1", "func", "tensor", "state",
		"program", "BLOBFILE", "dict", "A_9"} {
		b := spec(nil, function(name, "CoreML7", []part{named(1, name, x)}, str(2, name+"_1"),
			sub(3, str(1, "relu"), ref("x", name), named(3, name+"_1", x)),
			sub(3, str(1, name), ref(name, name, name), named(3, name+"_2", x), entry(5, name, text("")...))))
		m, err := decode(b)
		if err != nil {
			t.Fatal(err)
		}
		textOf(t, m.Program)
	}
	for _, name := range []string{"", "1a", "@a", ".a", "a-b", "a b", "é", "a//b", "a\x00"} {
		if isName(name) {
			t.Errorf("%q is accepted as a name", name)
		}
	}
}
