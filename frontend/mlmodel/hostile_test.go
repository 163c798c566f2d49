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
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// wrap puts inner n times into field b, behind lead, of a message in field a. It
// writes the heads from the inside out, so that 10,000 levels take no time.
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

// nested returns a specification of n blocks in each other.
func nested(n int) []byte {
	return spec(nil, function("main", "CoreML7", nil, part(wrap(n, str(2, "x"), str(1, "cond"), 3, 4))))
}

// nestedTypes returns a specification with n dictionaries in each other as a type.
func nestedTypes(n int) []byte {
	return simple(sub(1, str(1, "p"), raw(2, wrap(n, msg(tensor(11)...), sub(1, tensor(2)...), 4, 2))))
}

// nestedValues returns a specification with n tuples in each other.
func nestedValues(n int) []byte {
	val := immediate(tensor(11), sub(1, raw(1, f32(1))))
	typ := []part{sub(3, sub(1, tensor(11)...))} // the inner types need not agree to be read
	for range n {
		val = []part{sub(2, typ...), sub(3, sub(2, sub(1, val...)))}
	}
	return withConst(tensor(11), val)
}

// limits of one hostile input.
const (
	maxAlloc = 64 << 20
	maxTime  = time.Second
)

// TestHostile decodes what is wrong in every way there is. Each must be an error
// at the field to blame, quickly and without memory that the input does not
// justify.
func TestHostile(t *testing.T) {
	huge := tensor(11, 1<<20, 1<<20)
	over := tensor(11, 1<<40, 1<<40)
	for _, c := range []struct {
		name  string
		in    []byte
		field string // that the error names
		want  string // part of its message
	}{
		{"empty", nil, "", "the file is empty"},
		{"MIL text", []byte("program(1.0)\n{\n}\n"), "", "no model specification"},
		{"wire type 7", []byte{0x0f, 0}, "", "no model specification"},
		{"group", []byte{0x0b}, "", "group"},
		{"no model", msg(num(1, 8)), "", "ends without a model"},
		{"two models", msg(raw(500, nil), raw(502, nil)), "mlProgram", "holds two models, neuralNetwork and mlProgram"},
		{"cut off", simple()[:60], "mlProgram", "cut off"},
		{"cut version", []byte{8, 0x80}, "specificationVersion", "cut off"},
		{"length past the end", []byte{0xb2, 0x1f, 0xff, 0xff, 0xff, 0xff, 0x7f}, "mlProgram", "left of the file"},
		{"length inside", spec(nil, part{0x12, 0x7f, 1, 2}), "mlProgram.functions", "the field has 127 bytes, 2 are left"},
		{"endless varint", spec(nil, part(append([]byte{8}, bytes.Repeat([]byte{0xff}, 11)...))), "mlProgram.version", "cut off or too long"},
		{"wire type", spec(nil, part{0x15, 0, 0, 0, 0}), "mlProgram.functions", "is 32-bit, the schema has it length-delimited"},
		{"field zero", spec(nil, part{0x02, 0}), "mlProgram", "no field begins here"},
		{"no function", spec(nil), "mlProgram", "has no function"},
		{"version", msg(sub(502, num(1, 2))), "mlProgram.version", "version 2"},
		{"function twice", spec(nil, function("f", "CoreML7", nil), function("f", "CoreML7", nil)), "mlProgram.functions", "f is given twice"},
		{"function name", spec(nil, function("a b", "CoreML7", nil)), "mlProgram.functions", `"a b" is no identifier`},
		{"name that is a comment", spec(nil, function("a//b", "CoreML7", nil)), "mlProgram.functions", "no identifier"},
		{"opset", spec(nil, function("main", "CoreML99", nil)), "mlProgram.functions[main]", "operation set CoreML99 is not known"},
		{"no block", spec(nil, entry(2, "main", str(2, "CoreML7"))), "mlProgram.functions[main]", "no block for operation set CoreML7"},
		{"block with inputs", simple(named(1, "i", tensor(11))), "functions[main].block_specializations[CoreML7]", "1 inputs of its own"},
		{"no operation type", simple(sub(3)), "operations[0]", "has no type"},
		{"no result type", simple(sub(3, str(1, "relu"), sub(3, str(1, "y")))), "operations[0].outputs[0]", "a name and a type"},
		{"unbound argument", simple(sub(3, str(1, "relu"), entry(2, "x", sub(1)))), "operations[0].inputs[x].arguments[0]", "neither a name nor a value"},
		{"element type", simple(named(1, "p", tensor(99))), "tensorType.dataType", "element type 99"},
		{"rank", simple(sub(1, str(1, "p"), sub(2, sub(1, num(1, 11), num(2, 3))))), "tensorType", "rank 3 and 0 dimensions"},
		{"high rank", simple(named(1, "p", tensor(11, make([]int64, maxRank+1)...))), "tensorType.dimensions", "more than 64 dimensions"},
		{"dimension", simple(sub(1, str(1, "p"), sub(2, sub(1, num(1, 11), num(2, 1), sub(3, sub(1, num(1, 1<<63))))))), "constant.size", "the limit is 9223372036854775807"},
		{"2^40 elements", withConst(huge, immediate(huge, sub(1, raw(1, f32(1))))), "immediateValue.tensor", "the value has 1 elements, its type tensor<fp32, [1048576, 1048576]> has 1099511627776"},
		{"2^40 elements in bytes", withConst(tensor(10, 1<<40), immediate(tensor(10, 1<<40), sub(7, raw(1, []byte{1, 2})))), "immediateValue.tensor", "has 2 bytes, its type tensor<fp16, [1099511627776]> needs 2199023255552"},
		{"2^40 empty lists", withConst(tensor(11, 1<<40, 0), immediate(tensor(11, 1<<40, 0), sub(1, raw(1, f32(1))))), "immediateValue.tensor", "has 0"},
		{"more elements than numbers", withConst(over, immediate(over, sub(1, raw(1, f32(1))))), "immediateValue.tensor", "more elements than can be counted"},
		{"unknown shape", withConst(tensor(11, -1), immediate(tensor(11, -1), sub(1))), "immediateValue.tensor", "needs a known shape"},
		{"wrong class", withConst(tensor(11, 1), immediate(tensor(11, 1), sub(2, packed(1, 1)))), "immediateValue.tensor", `values in field "ints"`},
		{"odd floats", withConst(tensor(11, 1), immediate(tensor(11, 1), sub(1, raw(1, []byte{1, 2, 3})))), "tensor.floats.values", "3 bytes are left"},
		{"no value", withConst(tensor(11), []part{sub(2, tensor(11)...)}), "attributes[val]", "this is in neither"},
		{"both values", withConst(tensor(11), append(immediate(tensor(11), sub(1)), sub(5))), "attributes[val]", "this is in both"},
		{"tuple as tensor", withConst(tensor(11), []part{sub(2, tensor(11)...), sub(3, sub(2))}), "immediateValue.tuple", "the value is a tuple"},
		{"10,000 nested blocks", nested(10000), "operations[0].blocks[0]", "messages nest deeper than 256"},
		{"10,000 nested types", nestedTypes(10000), "dictionaryType", "messages nest deeper than 256"},
		{"nested values", nestedValues(300), "immediateValue.tuple", "messages nest deeper than 256"},
		{"description", msg(raw(2, []byte{0x0a, 5, 1}), raw(500, nil)), "description.input", "cut off"},
		{"shape of a feature", spec([]part{array(1, "x", packed(1, 1<<63))}, function("main", "CoreML7", nil)), "description.input[0].type.multiArray.shape", "dimension -9223372036854775808"},
		{"ranges of a feature", spec([]part{array(1, "x", packed(1, 1, 2), sub(31, sub(1, num(1, 1), num(2, 2))))}, function("main", "CoreML7", nil)), "description.input[0].type.multiArray", "ranges for 1 dimensions, the shape has 2"},
		{"range", spec([]part{array(1, "x", packed(1, 1), sub(31, sub(1, num(1, 3), num(2, 2))))}, function("main", "CoreML7", nil)), "shapeRange.sizeRanges[0]", "the range is 3 to 2"},
		{"default shape", spec([]part{array(1, "x", packed(1, 9), sub(31, sub(1, num(1, 1), num(2, 2))))}, function("main", "CoreML7", nil)), "multiArray", "default shape is 9, its range is 1 to 2"},
		{"rank of an input", spec([]part{array(1, "x", packed(1, 9))}, function("main", "CoreML7", []part{named(1, "x", tensor(11, -1, 3))}, str(2, "x"))), "functions[main]", "the description with 1 dimensions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := decode(c.in)
			took := time.Since(start)
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
			if n := after.TotalAlloc - before.TotalAlloc; n > maxAlloc || took > maxTime {
				t.Errorf("%d bytes allocated in %v for %d bytes", n, took, len(c.in))
			}
		})
	}
}

// TestTruncated cuts a real specification everywhere in its first bytes and at
// steps behind: every cut must be an error at or before the cut.
func TestTruncated(t *testing.T) {
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
	name := filepath.Join(shareddir.Find(t), "corpus", "silero-vad-unified-v6.0.0.mlpackage", "Data", "com.apple.CoreML", "model.mlmodel")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestReparse holds that the text of real programs parses to the tree it was
// printed from.
func TestReparse(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shareddir.Find(t), "corpus", "*.mlpackage", "Data", "com.apple.CoreML", "model.mlmodel"))
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
		s, err := Text(m.Program)
		if err != nil {
			t.Fatal(err)
		}
		tree, list := mil.ParseString(name, s)
		if list.HasErrors() {
			t.Fatal(list.Err())
		}
		if !mil.Equal(tree, m.Program) {
			t.Errorf("%s: the text is another program", name)
		}
	}
}

// FuzzModel decodes anything. It may fail, with an *Error; what it decodes must
// print as text that is read without fault, or that breaks a limit of texts.
func FuzzModel(f *testing.F) {
	f.Add(simple())
	f.Add(nested(3))
	f.Add(nestedValues(3))
	f.Add(spec([]part{array(1, "x", packed(1, 2, 3), sub(31, sub(1, num(1, 1), num(2, 2)), sub(1, num(1, 1), num(2, 9))))},
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
		if m.Metadata.Form == "" || (m.Program == nil) == (m.Metadata.Form == ProgramForm) {
			t.Fatalf("form %q with program %v", m.Metadata.Form, m.Program != nil)
		}
		if err := m.Metadata.WriteText(&bytes.Buffer{}, ""); err != nil {
			t.Fatal(err)
		}
		if m.Program == nil {
			return
		}
		s, err := Text(m.Program)
		if err != nil {
			t.Fatal(err)
		}
		if tree, list := mil.ParseString("text", s); list.HasErrors() {
			t.Fatalf("%v in\n%s", list.Err(), s)
		} else if !mil.Equal(tree, m.Program) {
			t.Fatalf("the text is another program:\n%s", s)
		}
	})
}

// TestBrackets holds that the text of a tensor with many dimensions of 1 is not
// much longer than its values.
func TestBrackets(t *testing.T) {
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
	s, err := Text(m.Program)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; err != nil || len(s) > 8*len(in) || n > maxAlloc {
		t.Errorf("%d bytes of text and %d allocated for %d bytes: %v", len(s), n, len(in), err)
	}
}
