package mlmodel

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/zinc-compiler/zinc/frontend/mil"
)

// A part is an encoded field.
type part []byte

// msg joins fields to a message.
func msg(parts ...part) []byte { return bytes.Join(asBytes(parts), nil) }

func asBytes(parts []part) [][]byte {
	out := make([][]byte, len(parts))
	for i, p := range parts {
		out[i] = p
	}
	return out
}

// sub is a field that holds a message.
func sub(num protowire.Number, parts ...part) part { return raw(num, msg(parts...)) }

func raw(num protowire.Number, b []byte) part {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), b)
}

func str(num protowire.Number, s string) part { return raw(num, []byte(s)) }

func num(n protowire.Number, v uint64) part {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
}

// entry is an entry of a map from strings.
func entry(n protowire.Number, key string, value ...part) part {
	return sub(n, str(1, key), sub(2, value...))
}

// packed is a field of packed numbers.
func packed(n protowire.Number, vs ...uint64) part {
	var b []byte
	for _, v := range vs {
		b = protowire.AppendVarint(b, v)
	}
	return raw(n, b)
}

// tensor is a ValueType of fixed dimensions; a dimension of -1 is unknown.
func tensor(elem uint64, dims ...int64) []part {
	ps := []part{num(1, elem), num(2, uint64(len(dims)))}
	for _, d := range dims {
		if d < 0 {
			ps = append(ps, sub(3, sub(2)))
		} else {
			ps = append(ps, sub(3, sub(1, num(1, uint64(d)))))
		}
	}
	return []part{sub(1, ps...)}
}

// named is a NamedValueType.
func named(n protowire.Number, name string, typ []part) part {
	return sub(n, str(1, name), sub(2, typ...))
}

// immediate is a Value of type typ with one field of a TensorValue.
func immediate(typ []part, content part) []part {
	return []part{sub(2, typ...), sub(3, sub(1, content))}
}

// text is a Value that is a string.
func text(s string) []part { return immediate(tensor(2), sub(4, str(1, s))) }

// constant is a const operation.
func constant(name string, typ []part, value []part) part {
	return sub(3, str(1, "const"), named(3, name, typ), entry(5, "name", text(name)...), entry(5, "val", value...))
}

// ref is an entry of an operation's arguments with names.
func ref(param string, names ...string) part {
	var ps []part
	for _, n := range names {
		ps = append(ps, sub(1, str(1, n)))
	}
	return entry(2, param, ps...)
}

// relu is y = relu(x).
func relu(typ []part) part {
	return sub(3, str(1, "relu"), ref("x", "x"), named(3, "y", typ), entry(5, "name", text("y")...))
}

// function is the entry of a function.
func function(name, opset string, inputs []part, block ...part) part {
	return entry(2, name, append(inputs, str(2, opset), entry(3, opset, block...))...)
}

// spec is a specification with a program.
func spec(description []part, program ...part) []byte {
	return msg(num(1, 8), sub(2, description...), sub(programField, append([]part{num(1, 1)}, program...)...))
}

// simple is a specification of one function that computes relu of an input.
func simple(extra ...part) []byte {
	x := tensor(11, 2, 3)
	return spec(nil, function("main", "CoreML7", []part{named(1, "x", x)}, append(append([]part{}, extra...),
		str(2, "y"), relu(x))...))
}

// withConst is simple with a constant whose value is of type typ.
func withConst(typ []part, value []part) []byte { return simple(constant("c", typ, value)) }

func decode(b []byte) (*Model, error) {
	return Decode(bytes.NewReader(b), int64(len(b)), "m.mlmodel")
}

// decodeText decodes and prints a specification.
func decodeText(t *testing.T, b []byte) string {
	t.Helper()
	m, err := decode(b)
	if err != nil {
		t.Fatal(err)
	}
	return textOf(t, m.Program)
}

// textOf lays out a program and returns its text, which must parse to the same tree with the same positions.
func textOf(t *testing.T, p *mil.Program) string {
	t.Helper()
	if err := mil.Layout("text", p); err != nil {
		t.Fatal(err)
	}
	parsed, list := mil.ParseString("text", p.File.Src)
	if list.HasErrors() {
		t.Fatalf("%v in\n%s", list.Err(), p.File.Src)
	}
	if at := difference(reflect.ValueOf(p), reflect.ValueOf(parsed)); at != "" {
		t.Fatalf("the tree is not that of its text: Program%s in\n%s", at, p.File.Src)
	}
	return p.File.Src
}

// difference returns where two trees differ, "" if they are equal. Empty slices are equal, and files are not compared.
func difference(a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				return fmt.Sprintf(": nil is %t and %t", a.IsNil(), b.IsNil())
			}
			return ""
		}
		if x, y := a.Elem().Type(), b.Elem().Type(); x != y {
			return fmt.Sprintf(": %s and %s", x, y)
		}
		return difference(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			name := a.Type().Field(i).Name
			if name == "File" {
				continue
			}
			if at := difference(a.Field(i), b.Field(i)); at != "" {
				return "." + name + at
			}
		}
		return ""
	case reflect.Slice:
		if a.Len() != b.Len() {
			return fmt.Sprintf(": %d and %d elements", a.Len(), b.Len())
		}
		for i := range a.Len() {
			if at := difference(a.Index(i), b.Index(i)); at != "" {
				return fmt.Sprintf("[%d]%s", i, at)
			}
		}
		return ""
	}
	if !a.Equal(b) {
		return fmt.Sprintf(": %v and %v", a, b)
	}
	return ""
}

func f32(v float32) []byte { return protowire.AppendFixed32(nil, math.Float32bits(v)) }
func f64(v float64) []byte { return protowire.AppendFixed64(nil, math.Float64bits(v)) }
