package mlmodel

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// wrap nests inner n levels deep in field b, after lead, of a message in field a. It writes the heads from the inside
// out, so that 10,000 levels take little time.
func wrap(n int, inner, lead []byte, a, b protowire.Number) []byte {
	heads := make([][]byte, n)
	size := len(inner)
	for i := range heads {
		in := protowire.AppendVarint(protowire.AppendTag(nil, b, protowire.BytesType), uint64(size))
		out := protowire.AppendVarint(protowire.AppendTag(nil, a, protowire.BytesType), uint64(len(lead)+len(in)+size))
		heads[i] = append(append(out, lead...), in...)
		size += len(heads[i])
	}
	slices.Reverse(heads)
	return append(bytes.Join(heads, nil), inner...)
}

// nested returns a specification of n nested blocks.
func nested(n int) []byte {
	return spec(nil, function("main", "CoreML7", nil, part(wrap(n, str(2, "x"), str(1, "cond"), 3, 4))))
}

// nestedTypes returns a specification with a type of n nested dictionaries.
func nestedTypes(n int) []byte {
	return simple(sub(1, str(1, "p"), raw(2, wrap(n, msg(tensor(11)...), sub(1, tensor(2)...), 4, 2))))
}

// nestedValues returns a specification with n nested tuples.
func nestedValues(n int) []byte {
	val := immediate(tensor(11), sub(1, raw(1, f32(1))))
	typ := []part{sub(3, sub(1, tensor(11)...))} // the inner types need not agree to be read
	for range n {
		val = []part{sub(2, typ...), sub(3, sub(2, sub(1, val...)))}
	}
	return withConst(tensor(11), val)
}

// maxAlloc bounds what one hostile input may allocate.
const maxAlloc = 64 << 20

// TestHostileSpecificationsAreRefused decodes specifications with every kind of fault. Each must be an error at the
// wrong field, without memory that the input does not justify.
func TestHostileSpecificationsAreRefused(t *testing.T) {
	huge := tensor(11, 1<<20, 1<<20)
	over := tensor(11, 1<<40, 1<<40)
	for _, c := range []struct {
		name  string
		in    []byte
		field string // that the error names
		want  string // part of its message
	}{
		{name: "empty", want: "the file is empty"},
		{name: "MIL text", in: []byte("program(1.0)\n{\n}\n"), want: "not a model specification"},
		{name: "wire type 7", in: []byte{0x0f, 0}, want: "not a model specification"},
		{name: "group", in: []byte{0x0b}, want: "has wire type 3"},
		{name: "no model", in: msg(num(1, 8)), want: "lacks a model"},
		{name: "two models", in: msg(raw(500, nil), raw(502, nil)), field: "mlProgram",
			want: "contains two models, neuralNetwork and mlProgram"},
		{name: "cut off", in: simple()[:60], field: "mlProgram", want: "truncated"},
		{name: "cut version", in: []byte{8, 0x80}, field: "specificationVersion", want: "truncated"},
		{name: "length past the end", in: []byte{0xb2, 0x1f, 0xff, 0xff, 0xff, 0xff, 0x7f}, field: "mlProgram",
			want: "left in the file"},
		{name: "length inside", in: spec(nil, part{0x12, 0x7f, 1, 2}), field: "mlProgram.functions",
			want: "the field has 127 bytes, but 2 are left"},
		{name: "endless varint", in: spec(nil, part(append([]byte{8}, bytes.Repeat([]byte{0xff}, 11)...))),
			field: "mlProgram.version", want: "truncated or too long"},
		{name: "wire type", in: spec(nil, part{0x15, 0, 0, 0, 0}), field: "mlProgram.functions",
			want: "is 32-bit, but the schema says length-delimited"},
		{name: "field zero", in: spec(nil, part{0x02, 0}), field: "mlProgram", want: "no field begins here"},
		{name: "no function", in: spec(nil), field: "mlProgram", want: "lacks a function"},
		{name: "version", in: msg(sub(502, num(1, 2))), field: "mlProgram.version", want: "version 2"},
		{name: "function twice", in: spec(nil, function("f", "CoreML7", nil), function("f", "CoreML7", nil)),
			field: "mlProgram.functions", want: "duplicate f"},
		{name: "function name", in: spec(nil, function("a b", "CoreML7", nil)), field: "mlProgram.functions",
			want: `"a b" is not an identifier`},
		{name: "name that is a comment", in: spec(nil, function("a//b", "CoreML7", nil)), field: "mlProgram.functions",
			want: "not an identifier"},
		{name: "opset", in: spec(nil, function("main", "CoreML99", nil)), field: "mlProgram.functions[main]",
			want: "unknown operation set CoreML99"},
		{name: "no block", in: spec(nil, entry(2, "main", str(2, "CoreML7"))), field: "mlProgram.functions[main]",
			want: "no block for operation set CoreML7"},
		{name: "block with inputs", in: simple(named(1, "i", tensor(11))),
			field: "functions[main].block_specializations[CoreML7]", want: "1 inputs; only nested"},
		{name: "no operation type", in: simple(sub(3)), field: "operations[0]", want: "lacks a type"},
		{name: "no result type", in: simple(sub(3, str(1, "relu"), sub(3, str(1, "y")))),
			field: "operations[0].outputs[0]", want: "a name and a type"},
		{name: "unbound argument", in: simple(sub(3, str(1, "relu"), entry(2, "x", sub(1)))),
			field: "operations[0].inputs[x].arguments[0]", want: "neither a name nor a value"},
		{name: "element type", in: simple(named(1, "p", tensor(99))), field: "tensorType.dataType",
			want: "element type 99"},
		{name: "rank", in: simple(sub(1, str(1, "p"), sub(2, sub(1, num(1, 11), num(2, 3))))), field: "tensorType",
			want: "rank 3 but 0 dimensions"},
		{name: "high rank", in: simple(named(1, "p", tensor(11, make([]int64, maxRank+1)...))),
			field: "tensorType.dimensions", want: "more than 64 dimensions"},
		{name: "dimension", in: simple(sub(1, str(1, "p"),
			sub(2, sub(1, num(1, 11), num(2, 1), sub(3, sub(1, num(1, 1<<63))))))), field: "constant.size",
			want: "the limit of 9223372036854775807"},
		{name: "2^40 elements", in: withConst(huge, immediate(huge, sub(1, raw(1, f32(1))))),
			field: "immediateValue.tensor",
			want:  "the value has 1 elements, but its type tensor<fp32, [1048576, 1048576]> has 1099511627776"},
		{name: "2^40 elements in bytes", in: withConst(tensor(10, 1<<40), immediate(tensor(10, 1<<40),
			sub(7, raw(1, []byte{1, 2})))), field: "immediateValue.tensor",
			want: "has 2 bytes, but its type tensor<fp16, [1099511627776]> needs 2199023255552"},
		{name: "2^40 empty lists", in: withConst(tensor(11, 1<<40, 0), immediate(tensor(11, 1<<40, 0),
			sub(1, raw(1, f32(1))))), field: "immediateValue.tensor", want: "has 0"},
		{name: "more elements than numbers", in: withConst(over, immediate(over, sub(1, raw(1, f32(1))))),
			field: "immediateValue.tensor", want: "more elements than can be counted"},
		{name: "unknown shape", in: withConst(tensor(11, -1), immediate(tensor(11, -1), sub(1))),
			field: "immediateValue.tensor", want: "needs a known shape"},
		{name: "wrong class", in: withConst(tensor(11, 1), immediate(tensor(11, 1), sub(2, packed(1, 1)))),
			field: "immediateValue.tensor", want: `values in field "ints"`},
		{name: "odd floats", in: withConst(tensor(11, 1), immediate(tensor(11, 1), sub(1, raw(1, []byte{1, 2, 3})))),
			field: "tensor.floats.values", want: "3 bytes are left"},
		{name: "no value", in: withConst(tensor(11), []part{sub(2, tensor(11)...)}), field: "attributes[val]",
			want: "got neither"},
		{name: "both values", in: withConst(tensor(11), append(immediate(tensor(11), sub(1)), sub(5))),
			field: "attributes[val]", want: "got both"},
		{name: "tuple as tensor", in: withConst(tensor(11), []part{sub(2, tensor(11)...), sub(3, sub(2))}),
			field: "immediateValue.tuple", want: "the value is a tuple"},
		{name: "10,000 nested blocks", in: nested(10000), field: "operations[0].blocks[0]",
			want: "messages nest deeper than 256"},
		{name: "10,000 nested types", in: nestedTypes(10000), field: "dictionaryType",
			want: "messages nest deeper than 256"},
		{name: "nested values", in: nestedValues(300), field: "immediateValue.tuple",
			want: "messages nest deeper than 256"},
		{name: "description", in: msg(raw(2, []byte{0x0a, 5, 1}), raw(500, nil)), field: "description.input",
			want: "truncated"},
		{name: "shape of a feature", in: spec([]part{array(1, "x", packed(1, 1<<63))}, function("main", "CoreML7",
			nil)), field: "description.input[0].type.multiArray.shape", want: "dimension -9223372036854775808"},
		{name: "ranges of a feature", in: spec([]part{array(1, "x", packed(1, 1, 2),
			sub(31, sub(1, num(1, 1), num(2, 2))))}, function("main", "CoreML7", nil)),
			field: "description.input[0].type.multiArray", want: "ranges for 1 dimensions, but the shape has 2"},
		{name: "range", in: spec([]part{array(1, "x", packed(1, 1), sub(31, sub(1, num(1, 3), num(2, 2))))},
			function("main", "CoreML7", nil)), field: "shapeRange.sizeRanges[0]", want: "the range is 3 to 2"},
		{name: "default shape", in: spec([]part{array(1, "x", packed(1, 9), sub(31, sub(1, num(1, 1), num(2, 2))))},
			function("main", "CoreML7", nil)), field: "multiArray",
			want: "default shape is 9, outside its range 1 to 2"},
		{name: "rank of an input", in: spec([]part{array(1, "x", packed(1, 9))}, function("main", "CoreML7",
			[]part{named(1, "x", tensor(11, -1, 3))}, str(2, "x"))), field: "functions[main]",
			want: "the description has 1 dimensions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := decode(c.in)
			runtime.ReadMemStats(&after)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error is %v", err)
			}
			if e.File != "m.mlmodel" || e.Offset < 0 || e.Offset > int64(len(c.in)) {
				t.Errorf("place %s byte %d of %d", e.File, e.Offset, len(c.in))
			}
			if !strings.Contains(e.Field, c.field) || !strings.Contains(e.Msg, c.want) {
				t.Errorf("error is\n%v\nwant field %q, message %q", err, c.field, c.want)
			}
			if len(err.Error()) > 2000 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > maxAlloc {
				t.Errorf("%d bytes allocated for %d bytes", n, len(c.in))
			}
		})
	}
}

// TestTruncatedSpecificationsAreRefused cuts a real specification at each of its first bytes and at steps after them:
// every cut must be an error at or before the cut.
func TestTruncatedSpecificationsAreRefused(t *testing.T) {
	data := real(t)
	for n := 0; n < len(data); n++ {
		if n > 600 {
			n += 97
		}
		_, err := decode(data[:min(n, len(data)-1)])
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
		if e.Offset > int64(n) {
			t.Errorf("cut after %d bytes: error at byte %d", n, e.Offset)
		}
	}
}

// real returns the specification of a model of the corpus.
func real(t testing.TB) []byte {
	t.Helper()
	name := filepath.Join(shareddir.Find(t), "corpus", "silero-vad-unified-v6.0.0.mlpackage", "Data",
		"com.apple.CoreML", "model.mlmodel")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestTextOfRealProgramsParsesToTheirTree checks that the text of real programs parses to the tree from which it was
// printed.
func TestTextOfRealProgramsParsesToTheirTree(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shareddir.Find(t), "corpus", "*.mlpackage", "Data", "com.apple.CoreML",
		"model.mlmodel"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%d specifications: %v", len(files), err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := decode(data)
		if err != nil {
			t.Fatal(err)
		}
		textOf(t, m.Program)
	}
}

// FuzzModel decodes any bytes. It may fail with an *Error; a decoded program must print as text that parses without
// errors, or that exceeds a limit of texts.
func FuzzModel(f *testing.F) {
	f.Add(simple())
	f.Add(nested(3))
	f.Add(msg(num(1, 9), sub(pipelineField, raw(1, simple()), sub(1, num(1, 1), raw(610, nil)))))
	f.Add(nestedValues(3))
	f.Add(spec([]part{array(1, "x", packed(1, 2, 3), sub(31, sub(1, num(1, 1), num(2, 2)),
		sub(1, num(1, 1), num(2, 9))))},
		function("main", "CoreML7", []part{named(1, "x", tensor(11, -1, 3))}, str(2, "x"))))
	f.Add(withConst(tensor(10, 2), immediate(tensor(10, 2), sub(7, raw(1, []byte{0, 0x3c, 1, 0})))))
	if _, err := os.Stat(filepath.Join("..", "..", "..", "shared")); err == nil || os.Getenv("ZINC_SHARED") != "" {
		f.Add(real(f))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := decode(in)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		held := m.Metadata.Form == ProgramForm || slices.Contains(m.Pipeline, ProgramForm) ||
			slices.ContainsFunc(m.Pipeline, func(form string) bool { return strings.HasPrefix(form, "pipeline") })
		if m.Metadata.Form == "" || m.Metadata.Form == ProgramForm && m.Program == nil || m.Program != nil && !held {
			t.Fatalf("form %q with program %v", m.Metadata.Form, m.Program != nil)
		}
		if err := m.Metadata.WriteText(&bytes.Buffer{}, ""); err != nil {
			t.Fatal(err)
		}
		if m.Program == nil {
			return
		}
		text := textOf(t, m.Program)
		out, err := Encode(m)
		if err != nil {
			return // of what a text can say and a specification cannot
		}
		again, err := decode(out)
		if err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
		if got := textOf(t, again.Program); got != text {
			t.Fatalf("the text is, after it was written,\n%s\nwant\n%s", got, text)
		}
		m.Description = nil
		if out, err = Encode(m); err != nil {
			return // of features that are not described whole
		}
		if _, err := decode(out); err != nil {
			t.Fatalf("what was written with a new description is not read: %v", err)
		}
	})
}

// TestTextOfDeepTensorsIsShort checks that the text of a tensor with many dimensions of 1 is not much longer than its
// values.
func TestTextOfDeepTensorsIsShort(t *testing.T) {
	dims := []int64{1 << 18}
	for len(dims) < maxRank {
		dims = append(dims, 1)
	}
	typ := tensor(31, dims...)
	in := withConst(typ, immediate(typ, sub(7, raw(1, make([]byte, 1<<18)))))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, err := decode(in)
	if err != nil {
		t.Fatal(err)
	}
	err = mil.Layout("text", m.Program)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	size := len(m.Program.File.Src)
	if n := after.TotalAlloc - before.TotalAlloc; size > 8*len(in) || n > maxAlloc {
		t.Errorf("%d bytes of text and %d allocated for %d bytes", size, n, len(in))
	}
}
