package coreml

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/ir"
)

// milText writes MIL text operation by operation. Values are named in the order in which they are written.
type milText struct {
	params, body []string
	n            int
	free         []milValue // results that nothing reads yet
}

// milValue is a value of the text: its name, and its type without "tensor".
type milValue struct{ name, typ string }

func (m *milText) name(stem string) string { m.n++; return fmt.Sprintf("%s_%d", stem, m.n) }

// input adds an input of the function.
func (m *milText) input(typ string) milValue {
	v := milValue{m.name("in"), typ}
	m.params = append(m.params, "tensor<"+typ+"> "+v.name)
	return v
}

// operand returns the newest value of the type that nothing reads yet, or a new input.
func (m *milText) operand(typ string) milValue {
	for i := len(m.free) - 1; i >= 0; i-- {
		if v := m.free[i]; v.typ == typ {
			m.free = append(m.free[:i], m.free[i+1:]...)
			return v
		}
	}
	return m.input(typ)
}

var argument = regexp.MustCompile(`(\w+) = (?:(\w+)(\[[^\]]*\])|(\(.*?\))|("[^"]*")|(\[[^\]]*\])|([^,]+))(?:, |$)`)

// call writes an operation with results of the given types, and returns the first. Arguments are operands ($0), lists
// of them, weights (fp16[2, 3]), typed numbers (fp16(0.5)), vectors and numbers of int32, booleans and strings.
func (m *milText) call(op, args string, operands []milValue, results ...string) milValue {
	var out []string
	for _, a := range argument.FindAllStringSubmatch(args, -1) {
		var value string
		switch scalar := a[7]; {
		case a[2] != "":
			shape := strings.Trim(a[3], "[]")
			value = m.constant(a[2]+", ["+shape+"]", `BLOBFILE(path = tensor<string, []>("@model_path/weights/`+
				`weight.bin"), offset = tensor<uint64, []>(64))`)
		case a[4] != "":
			value = a[4]
			for i, v := range operands {
				value = strings.ReplaceAll(value, fmt.Sprintf("$%d", i), v.name)
			}
		case a[5] != "":
			value = m.constant("string, []", a[5])
		case a[6] != "":
			value = m.constant(fmt.Sprintf("int32, [%d]", strings.Count(a[6], ",")+1), a[6])
		case strings.HasPrefix(scalar, "$"):
			value = operands[int(scalar[1]-'0')].name
		case scalar == "true" || scalar == "false":
			value = m.constant("bool, []", scalar)
		case strings.HasSuffix(scalar, ")"):
			typ, number, _ := strings.Cut(strings.TrimSuffix(scalar, ")"), "(")
			value = m.constant(typ+", []", number)
		default:
			value = m.constant("int32, []", scalar)
		}
		out = append(out, a[1]+" = "+value)
	}
	var declared []string
	var first milValue
	for i, typ := range results {
		v := milValue{m.name(op), typ}
		if i == 0 {
			first = v
		}
		declared = append(declared, "tensor<"+typ+"> "+v.name)
		m.free = append(m.free, v)
	}
	m.body = append(m.body, fmt.Sprintf("%s = %s(%s)[name = tensor<string, []>(\"%s\")];", strings.Join(declared, ", "),
		op, strings.Join(out, ", "), first.name))
	return first
}

// constant writes a constant and returns its name.
func (m *milText) constant(typ, value string) string {
	n := m.name("c")
	m.body = append(m.body, fmt.Sprintf(`tensor<%s> %s = const()[name = tensor<string, []>("%s"), `+
		`val = tensor<%s>(%s)];`, typ, n, n, typ, value))
	return n
}

// program opens the text, whose weights are assumed.
func (m *milText) program(t *testing.T, opset string) *ir.Program {
	t.Helper()
	var results []string
	for _, v := range m.free {
		results = append(results, v.name)
	}
	text := fmt.Sprintf("program(1.0)\n{\n    func main<%s>(%s) {\n        %s\n    } -> (%s);\n}\n", opset,
		strings.Join(m.params, ", "), strings.Join(m.body, "\n        "), strings.Join(results, ", "))
	path := filepath.Join(t.TempDir(), "model.mil")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	model, err := frontend.Open(path, frontend.Options{AssumeWeights: true})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	t.Cleanup(func() { model.Close() })
	return model.Program
}
