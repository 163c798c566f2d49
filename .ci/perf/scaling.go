package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/stat"
)

// Sizes of the models of a growth table: doubled from the first to the last, until a run takes longest seconds of the
// processors.
const (
	firstSize = 1000
	lastSize  = 64000
	longest   = 8
)

// smallestSize is the size of the model that takes as much time and memory as the start alone.
const smallestSize = 4

// maxExponent is the largest exponent of time or memory that a growth table passes.
const maxExponent = 1.15

// An exponent is fitted over the sizes that take more than a factor of what the smallest model takes, which is
// subtracted. Before that constants decide, and a run that takes milliseconds is mostly noise.
const (
	timeFactor   = 5
	memoryFactor = 1
)

// measurements is how often a row is measured before it fails. Other work on the machine makes a run take longer, never
// shorter, so the least of each size counts.
const measurements = 3

// A growth is a family of models of any size.
type growth struct {
	name, doc string
	// write writes the model of size n; with other set, one with another constant.
	write func(w modelText, n int, other bool)
}

// modelText is MIL text that is being written.
type modelText struct{ *bufio.Writer }

// row16 is the type of most tensors.
const row16 = "tensor<fp16, [1, 16, 1, 16]>"

func (m modelText) f(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

// op writes a statement.
func (m modelText) op(result, op, args string) {
	m.f(`%s %s = %s(%s)[name = string("%s")];`, row16, result, op, args, result)
}

// whole writes a program with one function.
func (m modelText) whole(params, outputs string, body func()) {
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
	{"depth", "a chain of n operations", func(m modelText, n int, other bool) {
		m.whole(row16+" x", fmt.Sprintf("s%d", n-1), func() {
			m.op("s0", "mul", "x = x, y = "+factor(0, other))
			for i := 1; i < n; i++ {
				op := [...]string{"add", "sub", "maximum"}[i%3]
				m.op(fmt.Sprintf("s%d", i), op, fmt.Sprintf("x = s%d, y = x", i-1))
			}
		})
	}},
	{"fan-out", "n products of x, and their sum", func(m modelText, n int, other bool) {
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
	{"functions", "n functions of two operations", func(m modelText, n int, other bool) {
		m.f("program(1.3)\n{")
		for i := range n {
			m.f("func %s<ios18>(%s x) {", functionName(i), row16)
			m.op("a", "mul", "x = x, y = "+factor(i, other && i == 0))
			m.op("b", "relu", "x = a")
			m.f("} -> (b);")
		}
		m.f("}")
	}},
	{"outputs", "n outputs", func(m modelText, n int, other bool) {
		m.whole(row16+" x", list(n, "p%d"), func() {
			for i := range n {
				m.op(fmt.Sprintf("p%d", i), "mul", "x = x, y = "+factor(i, other && i == 0))
			}
		})
	}},
	{"inputs", "the sum of n inputs", func(m modelText, n int, other bool) {
		m.whole(list(n, row16+" x%d"), fmt.Sprintf("s%d", n-1), func() {
			m.op("s0", "mul", "x = x0, y = "+factor(0, other))
			for i := 1; i < n; i++ {
				m.op(fmt.Sprintf("s%d", i), "add", fmt.Sprintf("x = s%d, y = x%d", i-1, i))
			}
		})
	}},
	{"states", "n states, each read, changed and written", func(m modelText, n int, other bool) {
		m.whole(row16+" x, "+list(n, "state<"+row16+"> k%d"), fmt.Sprintf("v%d", n-1), func() {
			for i := range n {
				m.op(fmt.Sprintf("r%d", i), "read_state", fmt.Sprintf("input = k%d", i))
				m.op(fmt.Sprintf("v%d", i), "mul", fmt.Sprintf("x = r%d, y = %s", i, factor(i, other && i == 0)))
				m.f(`write_state(data = v%d, input = k%d)[name = string("w%d")];`, i, i, i)
			}
		})
	}},
	{"length", "a tensor of 64 n elements", func(m modelText, n int, other bool) {
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
// Its error is the rows above maxExponent.
func scaling(w io.Writer, zinc, only string) error {
	for _, g := range growths {
		fmt.Fprintf(w, "%s: %s\n", g.name, g.doc)
	}
	fmt.Fprintf(w, "\nTime is of the processors, memory the largest resident set, both the least of the runs. "+
		"Exponents are slopes\nof least squares, as logarithms, over the sizes that take more than %d times the time, "+
		"or %d times the\nmemory, of the model of size %d beyond what that takes; a dash has fewer than 3. Doubled is "+
		"what the last\ndoubling of the size multiplies the time and the memory by.\n\n", timeFactor, memoryFactor,
		smallestSize)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "models\tcommand\tlargest\tseconds\tMB\texponent of time\tof memory\tdoubled: time\tmemory"+
		"\tresult")
	var bad []string
	for _, g := range growths {
		f, err := newFamily(zinc, g)
		if err != nil {
			return err
		}
		defer os.RemoveAll(f.dir)
		for _, m := range measured {
			if !strings.Contains(g.name+" "+m.name, only) {
				continue
			}
			c, err := f.grow(m)
			if err != nil {
				fmt.Fprintf(tw, "%s\t%s\t\t\t\t\t\t\t\t%.120q\n", g.name, m.name, firstLine(err))
				tw.Flush()
				continue
			}
			result := "pass"
			if c.fails() {
				result = "FAIL"
				bad = append(bad, g.name+" "+m.name)
			}
			half, last := c[len(c)-2], c[len(c)-1]
			fmt.Fprintf(tw, "%s\t%s\t%d\t%.2f\t%.0f\t%s\t%s\t%.2f\t%.2f\t%s\n", g.name, m.name, last.n, last.cpu,
				float64(last.peak)/1e6, exponentText(c.time()), exponentText(c.memory()), last.cpu/half.cpu,
				float64(last.peak)/float64(half.peak), result)
			tw.Flush()
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("exponent above %g: %s", maxExponent, strings.Join(bad, ", "))
	}
	return nil
}

// family is the models of a growth, in a temporary folder.
type family struct {
	growth
	zinc, dir string
	env       []string
}

func newFamily(zinc string, g growth) (*family, error) {
	dir, err := os.MkdirTemp("", "zinc-scaling")
	return &family{g, zinc, dir, uncached(zinc)}, err
}

// model returns the folder of the models of size n, which it makes if there is none.
func (f *family) model(n int) (string, error) {
	dir := filepath.Join(f.dir, strconv.Itoa(n))
	if err := os.Mkdir(dir, 0o777); errors.Is(err, os.ErrExist) {
		return dir, nil
	} else if err != nil {
		return "", err
	}
	for _, name := range []string{"a.mil", "b.mil"} {
		if err := f.writeModel(filepath.Join(dir, name), n, name == "b.mil"); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// writeModel writes a model to a file as it is made: a child begins with the largest memory of its parent.
func (f *family) writeModel(path string, n int, other bool) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	text := modelText{bufio.NewWriter(file)}
	f.write(text, n, other)
	return errors.Join(text.Flush(), file.Close())
}

// point is what a command took at a size.
type point struct {
	n int
	sample
}

// curve is what a command took at each size, from the smallest on.
type curve []point

// grow runs a command on the smallest models and on sizes that double. A size at which it fails ends the curve; fewer
// than three sizes are an error.
func (f *family) grow(m command) (c curve, err error) {
	for n := smallestSize; n <= lastSize; n = max(firstSize, 2*n) {
		s, err := f.once(n, m)
		if err != nil && len(c) <= 3 {
			return nil, err
		}
		if err != nil {
			break
		}
		if c = append(c, point{n, s}); s.cpu > longest {
			break
		}
	}
	for k := 1; k < measurements && c.fails(); k++ {
		for i := range c {
			s, err := f.once(c[i].n, m)
			if err != nil {
				return nil, err
			}
			c[i].cpu, c[i].peak = min(c[i].cpu, s.cpu), min(c[i].peak, s.peak)
		}
	}
	return c, nil
}

// once runs a command on the models of size n.
func (f *family) once(n int, m command) (s sample, err error) {
	in, err := f.model(n)
	if err != nil {
		return s, err
	}
	args := []string{f.zinc}
	for _, a := range m.argv {
		args = append(args, strings.ReplaceAll(a, "{in}", in))
	}
	if pair := filepath.Join(in, "a.hwx"); slices.Contains(args, pair) {
		if _, err := os.Stat(pair); err != nil {
			if _, err := run([]string{f.zinc, filepath.Join(in, "a.mil"), "-o", pair}, in, f.env); err != nil {
				return s, err
			}
		}
	}
	out, err := os.MkdirTemp(f.dir, "out")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(out)
	s, err = run(args, out, f.env)
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) &&
		(failed.ExitCode() > 3 || m.differs && failed.ExitCode() == 1) {
		err = nil // a verdict
	}
	return s, err
}

func (c curve) time() float64 {
	return c.exponent(timeFactor, func(s sample) float64 { return s.cpu })
}

func (c curve) memory() float64 {
	return c.exponent(memoryFactor, func(s sample) float64 { return float64(s.peak) })
}

func (c curve) fails() bool { return c.time() > maxExponent || c.memory() > maxExponent }

// exponent is the slope of a quantity by size, both as logarithms, over the sizes at which it is more than factor times
// what the smallest model takes, beyond that. It is NaN if fewer than three sizes are left.
func (c curve) exponent(factor float64, of func(sample) float64) float64 {
	var xs, ys []float64
	base := of(c[0].sample)
	for _, p := range c[1:] {
		if d := of(p.sample) - base; d > factor*base {
			xs, ys = append(xs, math.Log(float64(p.n))), append(ys, math.Log(d))
		}
	}
	if len(xs) < 3 {
		return math.NaN()
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

// exponentText writes an exponent, or that there is none.
func exponentText(e float64) string {
	if math.IsNaN(e) {
		return "-"
	}
	return fmt.Sprintf("%.2f", e)
}
