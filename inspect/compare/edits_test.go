package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// network is a model without weight files: a body between head and tail.
func network(t *testing.T, functions ...string) string {
	t.Helper()
	dir := t.TempDir()
	text := "program(1.3)\n{\n" + strings.Join(functions, "") + "}\n"
	if err := os.WriteFile(filepath.Join(dir, "model.mil"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// function writes a function over x of a shape.
func function(name, shape, body, output string) string {
	return fmt.Sprintf("    func %s<ios18>(tensor<fp16, %s> x) {\n%s\n        } -> (%s);\n", name, shape, body, output)
}

// stmt writes a statement with a name, or without one.
func stmt(shape, result, op, args, name string) string {
	s := fmt.Sprintf("        tensor<fp16, %s> %s = %s(%s)", shape, result, op, args)
	if name != "" {
		s += fmt.Sprintf(`[name = string("%s")]`, name)
	}
	return s + ";\n"
}

const small, wide = "[1, 8, 4, 16]", "[1, 8, 4, 32]"

// TestOneEditIsOneChange checks that each edit of a text is one change, with a name that a person would use.
func TestOneEditIsOneChange(t *testing.T) {
	chainOf := func(shape string, named bool, ops ...string) string {
		body, x := "", "x"
		for i, op := range ops {
			y, name := fmt.Sprintf("y%d", i), ""
			if named {
				name = y
			}
			body += stmt(shape, y, op, "x = "+x, name)
			x = y
		}
		return function("main", shape, body, x)
	}
	four := chainOf(small, true, "relu", "sigmoid", "tanh", "exp")
	inserted := strings.Replace(four, "tanh(x = y1)", "tanh(x = new)", 1)
	inserted = strings.Replace(inserted, "        tensor<fp16, "+small+"> y2", stmt(small, "new", "abs", "x = y1",
		"new")+"        tensor<fp16, "+small+"> y2", 1)
	for _, c := range []struct {
		name, a, b string
		want       string // the first change
		details    []string
		also       []string // effects that must be there
	}{
		{name: "operation replaced", a: four, b: strings.Replace(four, "sigmoid(", "relu(", 1),
			want: "mil: sigmoid y1 changed", details: []string{"operation: sigmoid -> relu"},
			also: []string{"ir: sigmoid y1 changed", "placement: sigmoid y1 changed"}},
		{name: "operation inserted", a: four, b: inserted, want: "mil: abs new added", details: []string{"x = y1",
			"x of tanh y2 reads it instead of y1"},
			also: []string{"ir: abs new added", "placement: abs new added"}},
		{name: "operation taken out", a: inserted, b: four, want: "mil: abs new removed",
			details: []string{"x of tanh y2 reads y1"}, also: []string{"ir: abs new removed"}},
		{name: "input shape", a: four, b: chainOf(wide, true, "relu", "sigmoid", "tanh", "exp"),
			want: "mil: function main changed",
			details: []string{"input x: tensor<fp16, " + small + "> -> tensor<fp16, " + wide + ">",
				"and with it the types of 4 operations, the first relu y0"},
			also: []string{"chain: operand x of main changed"}},
		{name: "names taken away", a: four, b: chainOf(small, false, "relu", "sigmoid", "tanh", "exp"),
			want: "mil: names of 4 operations changed", details: []string{`relu y0: "y0" -> none`}},
		{name: "unnamed, replaced", a: chainOf(small, false, "relu", "sigmoid"), b: chainOf(small, false, "relu",
			"tanh"), want: "mil: sigmoid y1 changed", details: []string{"operation: sigmoid -> tanh"}},
		{name: "function added", a: four, b: four + strings.Replace(four, "func main", "func other", 1),
			want: "mil: function other added", also: []string{"ir: function other added",
				"chain: function other added"}},
		{name: "function taken away", a: four + strings.Replace(four, "func main", "func other", 1), b: four,
			want: "mil: function other removed"},
		{name: "second function changed", a: four + strings.Replace(four, "func main", "func other", 1), b: four +
			strings.Replace(strings.Replace(four, "func main", "func other", 1), "sigmoid(", "tanh(", 1),
			want: "mil: sigmoid y1 changed", details: []string{"operation: sigmoid -> tanh"},
			also: []string{"placement: sigmoid y1 of other changed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compared(t, open(t, network(t, c.a), "h13"), open(t, network(t, c.b), "h13"), Options{})
			if len(r.Changes) != 1 || lines(r.Changes)[0] != c.want {
				t.Fatalf("got\n%s\nwant %s alone", strings.Join(lines(r.Changes), "\n"), c.want)
			}
			for _, d := range c.details {
				expectDetail(t, r.Changes[0].Details, d)
			}
			for _, e := range c.also {
				expectDetail(t, lines(r.Changes)[1:], "  "+e)
			}
		})
	}
}

// TestJointEffectsAreSeparate checks that the joint effects of two changes are separate from the effects of each.
func TestJointEffectsAreSeparate(t *testing.T) {
	body := stmt(small, "a", "relu", "x = x", "a") + stmt(small, "b", "sigmoid", "x = a", "b") +
		stmt(small, "c", "tanh", "x = b", "c")
	other := strings.Replace(strings.Replace(body, "relu(", "sin(", 1), "tanh(", "cos(", 1)
	r := compared(t, open(t, network(t, function("main", small, body, "c")), "h13"),
		open(t, network(t, function("main", small, other, "c")), "h13"), Options{})
	n := len(r.Changes)
	if n != 3 || r.Changes[2].Level != Together || len(r.Changes[2].Effects) == 0 {
		t.Fatalf("%q", lines(r.Changes))
	}
	var b strings.Builder
	if err := r.Text(&b, TextOptions{}); err != nil || !strings.Contains(b.String(),
		"2 changes, and what they do together\n") || !strings.Contains(b.String(),
		"\ntogether: what no single change explains\n") {
		t.Errorf("%v\n%s", err, &b)
	}
}
