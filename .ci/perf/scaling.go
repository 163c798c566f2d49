package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/stat"
)

// Sizes of the models of a growth table: doubled from the first to the last, until a run takes longest seconds of the
// processors.
const (
	firstSize = 1000
	lastSize  = 64000
	longest   = 6
)

// mostExponent is the largest exponent of time or memory that a growth table passes.
const mostExponent = 1.15

// A growth is a family of models of any size.
type growth struct {
	name, doc string
	// write writes the model of size n; with other set, one with another constant.
	write func(w *modelText, n int, other bool)
}

// modelText is MIL text that is being written.
type modelText struct{ strings.Builder }

// row16 is the type of most tensors.
const row16 = "tensor<fp16, [1, 16, 1, 16]>"

func (m *modelText) f(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

// op writes a statement.
func (m *modelText) op(result, op, args string) {
	m.f(`%s %s = %s(%s)[name = string("%s")];`, row16, result, op, args, result)
}

// whole writes a program with one function.
func (m *modelText) whole(params, outputs string, body func()) {
	m.f("program(1.3)\n{\nfunc main<ios18>(%s) {", params)
	body()
	m.f("} -> (%s);\n}", outputs)
}

// list joins n names, made from a format.
func list(n int, format string) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(names, ", ")
}

// factor is a constant that differs from statement to statement.
func factor(i int, other bool) string {
	if other {
		i = 60000
	}
	return fmt.Sprintf("fp16(%g)", 1+float64(i%999+1)/1024)
}

// growths are the families of models.
var growths = []growth{
	{"depth", "a chain of n operations", func(m *modelText, n int, other bool) {
		m.whole(row16+" x", fmt.Sprintf("s%d", n-1), func() {
			m.op("s0", "mul", "x = x, y = "+factor(0, other))
			for i := 1; i < n; i++ {
				op := [...]string{"add", "sub", "maximum"}[i%3]
				m.op(fmt.Sprintf("s%d", i), op, fmt.Sprintf("x = s%d, y = x", i-1))
			}
		})
	}},
	{"fan-out", "n products of x, and their sum", func(m *modelText, n int, other bool) {
		m.whole(row16+" x", fmt.Sprintf("s%d", n-1), func() {
			for i := range n {
				m.op(fmt.Sprintf("p%d", i), "mul", "x = x, y = "+factor(i, other && i == 0))
			}
			m.op("s0", "identity", "x = p0")
			for i := 1; i < n; i++ {
				m.op(fmt.Sprintf("s%d", i), "add", fmt.Sprintf("x = s%d, y = p%d", i-1, i))
			}
		})
	}},
	{"functions", "n functions of two operations", func(m *modelText, n int, other bool) {
		m.f("program(1.3)\n{")
		for i := range n {
			m.f("func %s<ios18>(%s x) {", functionName(i), row16)
			m.op("a", "mul", "x = x, y = "+factor(i, other && i == 0))
			m.op("b", "relu", "x = a")
			m.f("} -> (b);")
		}
		m.f("}")
	}},
	{"outputs", "n outputs", func(m *modelText, n int, other bool) {
		m.whole(row16+" x", list(n, "p%d"), func() {
			for i := range n {
				m.op(fmt.Sprintf("p%d", i), "mul", "x = x, y = "+factor(i, other && i == 0))
			}
		})
	}},
	{"inputs", "the sum of n inputs", func(m *modelText, n int, other bool) {
		m.whole(list(n, row16+" x%d"), fmt.Sprintf("s%d", n-1), func() {
			m.op("s0", "mul", "x = x0, y = "+factor(0, other))
			for i := 1; i < n; i++ {
				m.op(fmt.Sprintf("s%d", i), "add", fmt.Sprintf("x = s%d, y = x%d", i-1, i))
			}
		})
	}},
	{"states", "n states, each read, changed and written", func(m *modelText, n int, other bool) {
		m.whole(row16+" x, "+list(n, "state<"+row16+"> k%d"), fmt.Sprintf("v%d", n-1), func() {
			for i := range n {
				m.op(fmt.Sprintf("r%d", i), "read_state", fmt.Sprintf("input = k%d", i))
				m.op(fmt.Sprintf("v%d", i), "mul", fmt.Sprintf("x = r%d, y = %s", i, factor(i, other && i == 0)))
				m.f(`write_state(data = v%d, input = k%d)[name = string("w%d")];`, i, i, i)
			}
		})
	}},
	{"length", "a tensor of 64 n elements", func(m *modelText, n int, other bool) {
		t := fmt.Sprintf("tensor<fp16, [1, %d, 1, 64]>", n)
		m.whole(t+" x", "b", func() {
			m.f(`%s a = mul(x = x, y = %s)[name = string("a")];`, t, factor(0, other))
			m.f(`%s b = relu(x = a)[name = string("b")];`, t)
		})
	}},
}

// functionName is the name of function i; the first is main.
func functionName(i int) string {
	if i == 0 {
		return "main"
	}
	return fmt.Sprintf("f%d", i)
}

// A command is one that a growth table measures.
type command struct {
	name    string
	argv    []string
	differs bool // status 1 says that the models differ
}

// measured are the commands that a growth table measures, on a.mil, b.mil and a.hwx of a folder, {in}.
var measured = []command{
	{name: "check", argv: []string{"check", "{in}/a.mil"}},
	{name: "compile", argv: []string{"{in}/a.mil", "-o", "{out}/m.hwx"}},
	{name: "run", argv: []string{"run", "{in}/a.mil", "--random", "1", "--engine", "direct"}},
	{name: "verify", argv: []string{"verify", "{in}/a.mil"}},
	{name: "prove", argv: []string{"prove", "{in}/a.hwx", "{in}/a.mil"}},
	{name: "explain", argv: []string{"explain", "{in}/a.mil:4"}},
	{name: "lint", argv: []string{"lint", "{in}/a.mil"}},
	{name: "diff", argv: []string{"diff", "{in}/a.mil", "{in}/b.mil"}, differs: true},
	{name: "split", argv: []string{"split", "{in}/a.mil", "--parts", "2", "-o", "{out}/parts"}},
	{name: "reduce", argv: []string{"reduce", "{in}/a.mil", "--predicate", "true", "-o", "{out}/small.mil"}},
}

// scaling measures every command on every family, at sizes that double, and writes the exponents of time and memory.
// Its error is the rows above mostExponent.
func scaling(w io.Writer, zinc, only string) error {
	env := uncached(zinc)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "models\tcommand\tlargest\tseconds\tMB\texponent of time\tof memory\tresult")
	var bad []string
	for _, g := range growths {
		for _, m := range measured {
			if only != "" && !strings.Contains(g.name+" "+m.name, only) {
				continue
			}
			c, err := grow(zinc, env, g, m)
			if err != nil {
				fmt.Fprintf(tw, "%s\t%s\t\t\t\t\t\t%.120q\n", g.name, m.name, firstLine(err))
			} else {
				last := len(c.n) - 1
				result := "pass"
				if c.time > mostExponent || c.memory > mostExponent {
					result = "FAIL"
					bad = append(bad, g.name+" "+m.name)
				}
				fmt.Fprintf(tw, "%s\t%s\t%.0f\t%.2f\t%.0f\t%.2f\t%.2f\t%s\n", g.name, m.name, c.n[last], c.cpu[last],
					c.mem[last]/1e6, c.time, c.memory, result)
			}
			tw.Flush()
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("exponent above %g: %s", mostExponent, strings.Join(bad, ", "))
	}
	return nil
}

// A curve is what a command took at each size, and the exponents.
type curve struct {
	n, cpu, mem  []float64
	time, memory float64
}

// grow runs a command on a family at sizes that double. A size at which it fails ends the curve; fewer than three sizes
// are an error.
func grow(zinc string, env []string, g growth, m command) (c curve, err error) {
	for n := firstSize; n <= lastSize; n *= 2 {
		s, err := once(zinc, env, g, n, m)
		if err != nil && len(c.n) < 3 {
			return c, err
		}
		if err != nil {
			break
		}
		c.n, c.cpu, c.mem = append(c.n, float64(n)), append(c.cpu, s.cpu), append(c.mem, float64(s.anonymous))
		if s.cpu > longest {
			break
		}
	}
	c.time, c.memory = exponent(c.n, c.cpu, 0.1), exponent(c.n, c.mem, 16e6)
	return c, nil
}

// once measures one run, the better of two.
func once(zinc string, env []string, g growth, n int, m command) (best sample, err error) {
	in, err := os.MkdirTemp("", "zinc-scaling")
	if err != nil {
		return best, err
	}
	defer os.RemoveAll(in)
	for _, name := range []string{"a.mil", "b.mil"} {
		var text modelText
		g.write(&text, n, name == "b.mil")
		if err := os.WriteFile(filepath.Join(in, name), []byte(text.String()), 0o666); err != nil {
			return best, err
		}
	}
	args := []string{zinc}
	for _, a := range m.argv {
		args = append(args, strings.ReplaceAll(a, "{in}", in))
	}
	if strings.Contains(strings.Join(m.argv, " "), "a.hwx") {
		compile := []string{zinc, filepath.Join(in, "a.mil"), "-o", filepath.Join(in, "a.hwx")}
		if _, err := run(compile, in, env); err != nil {
			return best, err
		}
	}
	for k := range 2 {
		out, err := os.MkdirTemp(in, "out")
		if err != nil {
			return best, err
		}
		s, err := run(args, out, env)
		if failed := (*exec.ExitError)(nil); errors.As(err, &failed) &&
			(failed.ExitCode() > 3 || m.differs && failed.ExitCode() == 1) {
			err = nil // a verdict
		}
		if err != nil {
			return best, err
		}
		if k == 0 || s.cpu < best.cpu {
			best.cpu = s.cpu
		}
		best.anonymous = max(best.anonymous, s.anonymous)
		if s.cpu > longest/2 {
			break
		}
	}
	return best, nil
}

// exponent is the slope of a quantity by size, both as logarithms, over the last three sizes. What the smallest model
// takes is subtracted, since most of it does not depend on the size; differences below least are noise. It is 0 if less
// than two sizes are left.
func exponent(n, v []float64, least float64) float64 {
	var xs, ys []float64
	for i := max(1, len(n)-3); i < len(n); i++ {
		if d := v[i] - v[0]; d > least {
			xs, ys = append(xs, math.Log(n[i]-n[0])), append(ys, math.Log(d))
		}
	}
	if len(xs) < 2 {
		return 0
	}
	_, slope := stat.LinearRegression(xs, ys, nil, false)
	return slope
}

// firstLine is the first line of an error that says something.
func firstLine(err error) string {
	for line := range strings.Lines(err.Error()) {
		if i := strings.Index(line, "zinc: "); i >= 0 {
			return strings.TrimSpace(line[i:])
		}
	}
	return err.Error()
}
