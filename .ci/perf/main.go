// Perf measures what zinc takes for large models, and writes the table of docs/performance.md.
//
// It takes a program to measure, optionally an older one, and the folder of shared test material, whose genmodel.py
// writes the models. Every row has an anchor, another command that is run in between, and the ratio of the medians.
// Times are CPU seconds of user and system together, so that other work on the machine changes them little.
//
// Invariants: a program that fails ends the measurement; what is not there (the corpus, an older program) is left out
// of the table, which then says so.
package main

import (
	"bytes"
	"cmp"
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
	"time"
)

// sample is what one run of a command took.
type sample struct {
	cpu       float64 // seconds
	anonymous int64   // peak of memory that is not a mapped file, bytes
}

// row is one line of the table.
type row struct {
	what   string
	argv   []string // of zinc; {out} is a fresh folder
	anchor []string // a whole command, nil for none
	same   string   // instead of anchor: the row whose time is the anchor
	ratio  float64  // the goal, 0 for none
	memory int64    // the goal in MB, 0 for none
	again  bool     // {out} is the folder of the run before
}

func main() {
	zinc := flag.String("zinc", "bin/zinc", "program to measure")
	before := flag.String("before", "", "older program to measure in the same run")
	shared := flag.String("shared", "../shared", "shared test material")
	models := flag.String("models", filepath.Join(os.TempDir(), "zinc-perf"), "folder for the models, kept")
	runs := flag.Int("runs", 3, "runs of each command")
	out := flag.String("o", "", "file to write the table to")
	flag.Parse()
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
}

func rows(models, shared string) []row {
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
			same: "compile a chain of 24,576 operations", ratio: 2.2, memory: 150},
		{what: "check the 12 blocks", argv: []string{"check", at("blocks")}, memory: 64},
	}
	if whisper := filepath.Join(shared, "corpus", "whisper-tiny-encoder"); weighted(whisper) {
		l = append(l, row{what: "run whisper-tiny's encoder", argv: []string{"run", whisper, "--random", "1"}})
	}
	return l
}

// weighted reports whether a model of the corpus has its weights.
func weighted(model string) bool {
	l, err := filepath.Glob(filepath.Join(model, "weights", "*"))
	return err == nil && len(l) > 0
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
	tools := []string{before, zinc}
	if before == "" {
		tools = tools[1:]
	}
	list := rows(models, shared)
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
	write(&b, list, taken, before != "")
	os.Stdout.Write(b.Bytes())
	if out == "" {
		return nil
	}
	return os.WriteFile(out, b.Bytes(), 0o666)
}

// round runs every row once with one tool. The anchors are run with the last tool.
func round(list []row, tool string, k, anchor int, taken [][][]sample) error {
	dir := ""
	defer func() { os.RemoveAll(dir) }()
	for i, r := range list {
		if !r.again {
			os.RemoveAll(dir)
			var err error
			if dir, err = os.MkdirTemp("", "zinc-perf-out"); err != nil {
				return err
			}
		}
		s, err := run(append([]string{tool}, r.argv...), dir)
		if err != nil {
			return err
		}
		taken[i][k] = append(taken[i][k], s)
		if r.anchor == nil || k != anchor-1 {
			continue
		}
		if s, err = run(r.anchor, dir); err != nil {
			return err
		}
		taken[i][anchor] = append(taken[i][anchor], s)
	}
	return nil
}

// run runs a command and samples its memory.
func run(argv []string, dir string) (s sample, err error) {
	argv = slices.Clone(argv)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "{out}", dir)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	var msg bytes.Buffer
	cmd.Stderr = &msg
	if err := cmd.Start(); err != nil {
		return s, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			if err != nil {
				return s, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, msg.Bytes())
			}
			u := cmd.ProcessState
			s.cpu = (u.UserTime() + u.SystemTime()).Seconds()
			return s, nil
		case <-time.After(2 * time.Millisecond):
			s.anonymous = max(s.anonymous, anonymous(cmd.Process.Pid))
		}
	}
}

// anonymous returns the memory of a process that is not a mapped file, 0 where the system does not say.
func anonymous(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "RssAnon:" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

// median returns the median CPU time and the largest memory of samples.
func median(l []sample) (cpu float64, memory int64) {
	if len(l) == 0 {
		return 0, 0
	}
	l = slices.Clone(l)
	for _, s := range l {
		memory = max(memory, s.anonymous)
	}
	slices.SortFunc(l, func(a, b sample) int { return cmp.Compare(a.cpu, b.cpu) })
	return l[len(l)/2].cpu, memory
}

// write writes the table.
func write(w io.Writer, list []row, taken [][][]sample, before bool) {
	fmt.Fprintf(w, "# Performance\n\nWritten by `make performance`, on %s, with %d processors (%s), %s/%s, %s.\n",
		time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), processor(), runtime.GOOS, runtime.GOARCH,
		runtime.Version())
	fmt.Fprint(w, "\nTimes are CPU seconds, of user and system together: the median of all runs. Memory is "+
		"the peak of what is not a\nmapped file. The anchor of a row is a copy of the model's folder by `cp -r`, or "+
		"the row named in brackets.\n\n| what | seconds | of its anchor | goal | memory, MB | goal |")
	if before {
		fmt.Fprint(w, " seconds before | memory before, MB |")
	}
	fmt.Fprint(w, "\n| --- | --- | --- | --- | --- | --- |")
	if before {
		fmt.Fprint(w, " --- | --- |")
	}
	fmt.Fprintln(w)
	for i, r := range list {
		n := len(taken[i]) - 1
		cpu, memory := median(taken[i][n-1])
		anchor, _ := median(taken[i][n])
		name := r.what
		if r.same != "" {
			j := slices.IndexFunc(list, func(x row) bool { return x.what == r.same })
			anchor, _ = median(taken[j][n-1])
			name += " (" + r.same + ")"
		}
		ratio, goal, memoryGoal := "", "", ""
		if anchor > 0 {
			ratio = fmt.Sprintf("%.2f", cpu/anchor)
		}
		if r.ratio > 0 {
			goal = fmt.Sprintf("%.2g", r.ratio)
		}
		if r.memory > 0 {
			memoryGoal = fmt.Sprint(r.memory)
		}
		fmt.Fprintf(w, "| %s | %.2f | %s | %s | %d | %s |", name, cpu, ratio, goal, memory>>20, memoryGoal)
		if before {
			cpu, memory := median(taken[i][0])
			fmt.Fprintf(w, " %.2f | %d |", cpu, memory>>20)
		}
		fmt.Fprintln(w)
	}
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
