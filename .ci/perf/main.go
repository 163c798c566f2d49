// Perf measures what zinc takes for large models, and writes the table of docs/performance.md.
//
// It takes a program to measure, optionally an older one, and the folder of shared test material, whose genmodel.py
// writes the models. A row may have an anchor, another command that is run in between, and then the ratio of the median
// times. Times are of the clock, so the machine should have no other work; processor times are beside them. Rates of
// kernels and times of dispatches come from benchmarks.
//
// With -scaling it prints how time and memory of each command grow with depth, fan-out, functions and so on of a model.
//
// Invariants: a program that fails ends the measurement.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zinc-compiler/zinc/internal/testmodel"
)

// sample is what one run of a command took.
type sample struct {
	wall, cpu float64 // seconds
	anonymous int64   // peak of memory that is not a mapped file, bytes
	peak      int64   // peak of all resident memory, bytes
}

// row is one line of the table.
type row struct {
	what   string
	argv   []string // of zinc; {out} is a fresh folder
	anchor []string // a whole command, nil for none
	same   string   // instead of anchor: the row whose time is the anchor
	// The goals, 0 for none.
	ratio   float64
	seconds float64
	memory  int64 // MB
	again   bool  // {out} is the folder of the run before
	fresh   bool  // an older program does not have it
}

func main() {
	zinc := flag.String("zinc", "bin/zinc", "program to measure")
	before := flag.String("before", "", "older program to measure in the same run")
	shared := flag.String("shared", "../shared", "shared test material")
	models := flag.String("models", filepath.Join(os.TempDir(), "zinc-perf"), "folder for the models, kept")
	runs := flag.Int("runs", 3, "runs of each command")
	out := flag.String("o", "", "file to write the table to")
	growth := flag.Bool("scaling", false, "print how time and memory grow with models instead")
	only := flag.String("only", "", "with -scaling, the rows whose names contain this")
	flag.Parse()
	if *growth {
		if err := scaling(os.Stdout, *zinc, *only); err != nil {
			fmt.Fprintln(os.Stderr, "scaling:", err)
			os.Exit(1)
		}
		return
	}
	if err := measure(*zinc, *before, *shared, *models, *runs, *out); err != nil {
		fmt.Fprintln(os.Stderr, "perf:", err)
		os.Exit(1)
	}
}

// generated are the models, with the arguments of genmodel.py.
var generated = map[string]string{
	"wide":   "--kind wide --depth 8 --width 4096",
	"blocks": "--kind blocks --depth 12 --width 768 --heads 12 --seq 128",
	"chain":  "--kind chain --depth 16384 --width 64",
	"half":   "--kind chain --depth 8192 --width 64",
	"long":   "--kind chain --depth 65536 --width 64",
}

// decoder has the layers of Llama 3.2 1B, and writes its caches at a position that is known at run time.
var decoder = testmodel.Decoder{
	Layers: 16, Width: 2048, Hidden: 8192, Heads: 32, Shared: 8, Head: 64, Vocabulary: 1000, Context: 512,
	Queries: []int{1},
}

// Models of the corpus.
const (
	parakeet = "parakeet-eou-encoder-1280ms"
	whisper  = "whisper-tiny-encoder"
)

// places are the words of a check that looks for no changes.
func places(model string) []string { return []string{"check", "--advice=false", model} }

func rows(models string) []row {
	at := func(name string) string { return filepath.Join(models, name) }
	copied := func(name string) []string { return []string{"cp", "-r", at(name), "{out}/copy"} }
	l := []row{
		{what: "compile 8 products of 4096x4096, 257 MB of weights", argv: []string{at("wide"), "-o", "{out}/m.hwx"},
			anchor: copied("wide"), ratio: 3, memory: 64},
		{what: "compile 12 transformer blocks, 163 MB", argv: []string{at("blocks"), "-o", "{out}/m.hwx"},
			anchor: copied("blocks"), ratio: 3, memory: 64},
		{what: "the 8 products into a cache", argv: []string{at("wide"), "-o", "{out}/m.hwx", "--cache", "{out}/kept"}},
		{
			what: "the 8 products from the cache",
			argv: []string{at("wide"), "-o", "{out}/n.hwx", "--cache", "{out}/kept"},
			same: "the 8 products into a cache", ratio: 0.2, memory: 64, again: true,
		},
		{what: "compile a chain of 24,576 operations", argv: []string{at("half"), "-o", "{out}/m.hwx"}},
		{what: "compile a chain of 49,152 operations", argv: []string{at("chain"), "-o", "{out}/m.hwx"},
			same: "compile a chain of 24,576 operations", ratio: 2.2, seconds: 1.5, memory: 150},
		{what: "compile a chain of 196,608 operations", argv: []string{at("long"), "-o", "{out}/m.hwx"},
			same: "compile a chain of 49,152 operations", ratio: 4.4, fresh: true},
		{what: "place and estimate the 12 blocks", argv: places(at("blocks")), memory: 64},
		{
			what:  "place and estimate the 12 blocks without their weights",
			argv:  places(filepath.Join(at("bare"), "model.mil")),
			fresh: true,
		},
		{what: "check them, with advice", argv: []string{"check", at("blocks")}},
	}
	return append(l,
		row{
			what:    "place and estimate parakeet's encoder, 1,174 operations",
			argv:    places(at(parakeet)),
			seconds: 0.25,
		},
		row{
			what:    "place and estimate it without its weights",
			argv:    places(filepath.Join(at("bare"), parakeet, "model.mil")),
			seconds: 0.15, fresh: true,
		},
		row{what: "check it, with advice", argv: []string{"check", at(parakeet)}},
		row{
			what:    "check a decoder of 16 layers without its weights, 1.95 GB",
			argv:    []string{"check", at("decoder.mil")},
			seconds: 0.3,
		},
		row{what: "run whisper-tiny's encoder", argv: []string{"run", at(whisper), "--random", "1"}, seconds: 2},
		row{
			what:    "the same, sums in fp32",
			argv:    []string{"run", at(whisper), "--random", "1", "--numerics", "ane-wide"},
			seconds: 0.8, fresh: true,
		},
		row{
			what:    "the same, by the interpreter",
			argv:    []string{"run", at(whisper), "--random", "1", "--engine", "interp"},
			seconds: 1.5,
		},
		row{
			what: "prove its pair",
			argv: []string{at(whisper), "-o", "{out}/m.hwx", "--prove"},
			same: "run whisper-tiny's encoder", ratio: 2, fresh: true,
		})
}

// benchmarks are the rows that no command shows.
var benchmarks = []struct {
	what, pkg, name, unit string
	factor                float64 // from the benchmark's unit
	goal                  string
}{
	{what: "a product of matrices by one core, GFLOP/s", pkg: "./numerics/vector",
		name: "BenchmarkMultiply/384x1500x384/exact", unit: "GMAC/s", factor: 2, goal: "at least 80"},
	{what: "one dispatch through the stack, 4x4 pixels, us", pkg: "./runtime/sim/stack",
		name: "BenchmarkDispatch/pixels=4x4", unit: "ns/op", factor: 1e-3, goal: "at most 12"},
	{what: "one dispatch through the stack, 8x8 pixels, us", pkg: "./runtime/sim/stack",
		name: "BenchmarkDispatch/pixels=8x8", unit: "ns/op", factor: 1e-3, goal: "at most 20"},
	{what: "an edit of parakeet's encoder in the explorer, ms", pkg: "./inspect/explore",
		name: "BenchmarkEdit", unit: "ns/op", factor: 1e-6, goal: "at most 50"},
}

// bench returns the median of a benchmark over several runs.
func bench(pkg, name, unit string, runs int) (float64, error) {
	pattern := "^" + strings.ReplaceAll(name, "/", "$/^") + "$"
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", pattern, "-count", strconv.Itoa(runs), pkg)
	b, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, b)
	}
	var values []float64
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if i := slices.Index(f, unit); i > 0 && strings.HasPrefix(f[0], name) {
			v, err := strconv.ParseFloat(f[i-1], 64)
			if err != nil {
				return 0, err
			}
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return 0, fmt.Errorf("%s prints no %s:\n%s", strings.Join(cmd.Args, " "), unit, b)
	}
	slices.Sort(values)
	return values[len(values)/2], nil
}

// withWeights copies a model of the corpus and makes its weights.
func withWeights(shared, models, name string) error {
	dir := filepath.Join(models, name)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(shared, "corpus", name))); err != nil {
		return err
	}
	tool := filepath.Join(shared, "tools", "mkweights.py")
	if b, err := exec.Command("python3", tool, dir).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", tool, err, b)
	}
	return nil
}

func measure(zinc, before, shared, models string, runs int, out string) error {
	for name, args := range generated {
		dir := filepath.Join(models, name)
		if _, err := os.Stat(filepath.Join(dir, "model.mil")); err == nil {
			continue
		}
		tool := filepath.Join(shared, "tools", "genmodel.py")
		cmd := exec.Command("python3", append([]string{tool, dir}, strings.Fields(args)...)...)
		if b, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", tool, err, b)
		}
	}
	for _, name := range []string{parakeet, whisper} {
		if err := withWeights(shared, models, name); err != nil {
			return err
		}
	}
	if err := bare(models); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(models, "decoder.mil"), []byte(decoder.Text()), 0o666); err != nil {
		return err
	}
	tools := []string{before, zinc}
	if before == "" {
		tools = tools[1:]
	}
	list := rows(models)
	// taken[i][k] are the samples of row i by tool k; the last ones are of the anchor.
	taken := make([][][]sample, len(list))
	for i := range taken {
		taken[i] = make([][]sample, len(tools)+1)
	}
	for range runs {
		for k, tool := range tools {
			if err := round(list, tool, k, len(tools), taken); err != nil {
				return err
			}
		}
	}
	var b bytes.Buffer
	if err := write(&b, list, taken, before != "", runs); err != nil {
		return err
	}
	os.Stdout.Write(b.Bytes())
	if out == "" {
		return nil
	}
	return os.WriteFile(out, b.Bytes(), 0o666)
}

// bare makes models without their weights.
func bare(models string) error {
	for name, to := range map[string]string{"blocks": "bare", parakeet: filepath.Join("bare", parakeet)} {
		text, err := os.ReadFile(filepath.Join(models, name, "model.mil"))
		if err != nil {
			return err
		}
		dir := filepath.Join(models, to)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "model.mil"), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// round runs every row once with one tool. The anchors are run with the last tool.
func round(list []row, tool string, k, anchor int, taken [][][]sample) error {
	dir, env := "", uncached(tool)
	defer func() { os.RemoveAll(dir) }()
	for i, r := range list {
		if !r.again {
			os.RemoveAll(dir)
			var err error
			if dir, err = os.MkdirTemp("", "zinc-perf-out"); err != nil {
				return err
			}
		}
		if k != anchor-1 && r.fresh {
			continue
		}
		s, err := run(append([]string{tool}, r.argv...), dir, env)
		if err != nil {
			return err
		}
		taken[i][k] = append(taken[i][k], s)
		if r.anchor == nil || k != anchor-1 {
			continue
		}
		if s, err = run(r.anchor, dir, env); err != nil {
			return err
		}
		taken[i][anchor] = append(taken[i][anchor], s)
	}
	return nil
}

// uncached returns the environment in which a program has no cache: rows that measure one name its folder, and in the
// others a second run would find the pair of the first. A program without --no-cache has none if the variable is not
// set, and would take the word off for a folder.
func uncached(tool string) []string {
	env := slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "ZINC_CACHE=") })
	help, err := exec.Command(tool, "--help").CombinedOutput()
	if err != nil || bytes.Contains(help, []byte("no-cache")) {
		env = append(env, "ZINC_CACHE=off")
	}
	return env
}

// run runs a command and samples its memory.
func run(argv []string, dir string, env []string) (s sample, err error) {
	argv = slices.Clone(argv)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "{out}", dir)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	var msg bytes.Buffer
	cmd.Stderr = &msg
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return s, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			u := cmd.ProcessState
			s.wall = time.Since(start).Seconds()
			s.cpu = (u.UserTime() + u.SystemTime()).Seconds()
			if r, ok := u.SysUsage().(*syscall.Rusage); ok {
				s.peak = r.Maxrss << 10
			}
			if err != nil {
				err = fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, msg.Bytes())
			}
			return s, err
		case <-time.After(5 * time.Millisecond):
			s.anonymous = max(s.anonymous, anonymous(cmd.Process.Pid))
		}
	}
}

// anonymous returns the memory of a process that is not a mapped file, 0 where the system does not say. It reads
// counters alone, which takes no lock of the process's mappings.
func anonymous(pid int) int64 {
	var size, resident, shared int64
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	if _, err := fmt.Sscan(string(b), &size, &resident, &shared); err != nil {
		return 0
	}
	return (resident - shared) * int64(os.Getpagesize())
}

// median returns the median times and the largest memory of samples.
func median(l []sample) sample {
	if len(l) == 0 {
		return sample{}
	}
	of := func(f func(sample) float64) float64 {
		v := make([]float64, len(l))
		for i, s := range l {
			v[i] = f(s)
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	m := sample{wall: of(func(s sample) float64 { return s.wall }), cpu: of(func(s sample) float64 { return s.cpu })}
	for _, s := range l {
		m.anonymous = max(m.anonymous, s.anonymous)
	}
	return m
}

// write writes the tables.
func write(w io.Writer, list []row, taken [][][]sample, before bool, runs int) error {
	fmt.Fprintf(w, "# Performance\n\nWritten by `make performance`, on %s, with %d processors (%s), %s/%s, %s.\n",
		time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), processor(), runtime.GOOS, runtime.GOARCH,
		runtime.Version())
	fmt.Fprintf(w, "\nTimes are seconds by the clock, and of the processors, user and system together: medians of %d "+
		"runs. Memory is the\npeak of what is not a mapped file, in MB. The anchor of a row is a copy of the model's "+
		"folder by `cp -r`, or the row\nnamed in brackets; its ratio is by the clock. Goals are in brackets beside "+
		"what they are for.\n\n| what | seconds | processors | of its anchor | memory |", runs)
	rule := "\n| --- | --- | --- | --- | --- |"
	if before {
		fmt.Fprint(w, " before: seconds | processors | memory |")
		rule += " --- | --- | --- |"
	}
	fmt.Fprintln(w, rule)
	for i, r := range list {
		n := len(taken[i]) - 1
		now, anchor := median(taken[i][n-1]), median(taken[i][n])
		name := r.what
		if r.same != "" {
			j := slices.IndexFunc(list, func(x row) bool { return x.what == r.same })
			anchor = median(taken[j][n-1])
			name += " (" + r.same + ")"
		}
		ratio := ""
		if anchor.wall > 0 {
			ratio = goal(fmt.Sprintf("%.2f", now.wall/anchor.wall), r.ratio)
		}
		seconds := goal(fmt.Sprintf("%.2f", now.wall), r.seconds)
		fmt.Fprintf(w, "| %s | %s | %.2f | %s | %s |", name, seconds, now.cpu, ratio,
			goal(fmt.Sprint(now.anonymous>>20), float64(r.memory)))
		if old := median(taken[i][0]); before && r.fresh {
			fmt.Fprint(w, " | | |")
		} else if before {
			fmt.Fprintf(w, " %.2f | %.2f | %d |", old.wall, old.cpu, old.anonymous>>20)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\nBy benchmarks, medians of %d runs:\n\n| what | now | goal |\n| --- | --- | --- |\n", runs)
	for _, m := range benchmarks {
		v, err := bench(m.pkg, m.name, m.unit, runs)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %s | %.1f | %s |\n", m.what, v*m.factor, m.goal)
	}
	return nil
}

// goal puts a goal behind a number, 0 for none.
func goal(text string, goal float64) string {
	if goal == 0 {
		return text
	}
	return fmt.Sprintf("%s (%g)", text, goal)
}

// processor returns the name of the processor, where the system says it.
func processor() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimLeft(strings.TrimSpace(name), ": \t")
		}
	}
	return "unknown"
}
