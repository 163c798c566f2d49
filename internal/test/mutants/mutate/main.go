// Mutate makes single mutations of the compiler and the simulator and reports which of them the judges of generated
// programs and the packages' own tests find.
//
// All mutants are in one build, so a mutant takes as long as the programs that reach it.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zinc-compiler/zinc/internal/test/mutants"
	"github.com/zinc-compiler/zinc/internal/test/mutants/verdict"
)

// mutated are the packages whose mutants are made without -packages.
var mutated = []string{
	"./passes", "./lower/...", "./layout/...", "./emit/hwx", "./emit/e5", "./runtime/sim", "./runtime/sim/engine",
	"./runtime/sim/interp",
}

// holders are the packages whose tests hold the compiler's output against recorded words and goldens. They are run, in
// this order, for mutants that change bytes or results, after the tests of the mutant's own package.
var holders = []string{"./lower", "./passes", "./compile"}

type options struct {
	n, skip              int
	programs, jobs, most int
	seed                 uint64
	floor                float64
	dir, packages        string
	tests                bool
	facts                bool
	match                *regexp.Regexp // of facts; nil for all
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 2000, "mutants")
	flag.IntVar(&o.skip, "skip", 0, "mutants of the choice that are left out, since an interrupted run has judged them")
	flag.Uint64Var(&o.seed, "seed", 0, "which mutants are chosen")
	flag.IntVar(&o.programs, "programs", 3000, "generated programs that are searched for those that reach a mutant")
	flag.IntVar(&o.most, "most", 40, "programs run for a mutant at most; then four times as many if something changes")
	flag.IntVar(&o.jobs, "jobs", runtime.GOMAXPROCS(0), "mutants that are run at a time")
	flag.StringVar(&o.dir, "dir", "dist/mutants", "folder for the builds and the report")
	flag.StringVar(&o.packages, "packages", strings.Join(mutated, " "), "packages that are mutated")
	flag.BoolVar(&o.tests, "tests", true, "run packages' short tests on mutants that no judge finds")
	flag.Float64Var(&o.floor, "floor", 0, "least per cent of the mutants that change something that must be killed")
	flag.BoolVar(&o.facts, "facts", false, "instead, run the mutants that the scripts of the chapters' facts name")
	flag.Func("match", "of -facts, those whose place in the scripts, text or file matches `REGEXP`",
		func(text string) (err error) {
			o.match, err = regexp.Compile(text)
			return err
		})
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	do := run
	if o.facts {
		do = runFacts
	}
	if err := do(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// A Mutant is a mutation and what became of it.
type Mutant struct {
	*mutants.Site `json:"-"`

	Number   int
	Place    string // String of the site
	Reached  int    // programs that reach it
	Changed  bool   // bytes or results of a program changed
	KilledBy string // "" if it survived
	How      string // what the killer said

	programs []int64
	judged   bool
}

// state is one experiment.
type state struct {
	options

	root    string
	source  *mutants.Source
	list    []*Mutant
	overlay string
	judge   string
	prints  map[int64]string // of programs, without a mutant

	mu     sync.Mutex
	binary map[string]*testBinary
}

// testBinary is the test of a package, built with the overlay when it is needed first.
type testBinary struct {
	once sync.Once
	path string
	err  error
}

func run(ctx context.Context, o options) error {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	o.dir = dir
	s := &state{options: o, prints: map[int64]string{}, binary: map[string]*testBinary{}}
	if s.root, err = os.Getwd(); err != nil {
		return err
	}
	if s.source, err = mutants.Load(s.root, strings.Fields(o.packages)...); err != nil {
		return err
	}
	for i, site := range s.source.Choose(o.n, o.seed) {
		if i >= o.skip {
			s.list = append(s.list, &Mutant{Site: site, Number: i + 1, Place: site.String()})
		}
	}
	all := len(s.list)
	fmt.Fprintf(os.Stderr, "%d places, %d chosen\n", len(s.source.Sites), all)
	if err := s.build(ctx); err != nil {
		return err
	}
	if err := s.trace(ctx); err != nil {
		return err
	}
	s.tryAll(ctx)
	judged := 0 // before the first that was not
	for _, m := range s.list {
		if !m.judged {
			break
		}
		judged++
	}
	s.list = s.list[:judged]
	if err := s.write(); err != nil {
		return err
	}
	rate := s.print()
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted after %d of %d mutants; -skip %d goes on from there", judged, all, o.skip+judged)
	}
	if rate < o.floor {
		return fmt.Errorf("%.1f %% are killed, want at least %g %%", rate, o.floor)
	}
	return nil
}

// badLine is a line of the compiler's errors.
var badLine = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):`)

// build builds the judge. Mutants on lines that do not compile are dropped. The folder's name begins with an
// underscore, so that ./... does not match the packages in it.
func (s *state) build(ctx context.Context) error {
	s.judge = filepath.Join(s.dir, "judge")
	for {
		if err := os.RemoveAll(filepath.Join(s.dir, "_overlay")); err != nil {
			return err
		}
		numbers := map[*mutants.Site]int{}
		for _, m := range s.list {
			numbers[m.Site] = m.Number
		}
		var err error
		if s.overlay, err = s.source.Overlay(filepath.Join(s.dir, "_overlay"), numbers); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, "go", "build", "-gcflags=-e", "-overlay", s.overlay, "-o", s.judge,
			"./internal/test/mutants/judge")
		out, err := cmd.CombinedOutput()
		if err == nil {
			return nil
		}
		bad := map[string]bool{}
		for _, m := range badLine.FindAllSubmatch(out, -1) {
			bad[string(m[1])+":"+string(m[2])] = true
		}
		before := len(s.list)
		s.list = slices.DeleteFunc(s.list, func(m *Mutant) bool {
			for _, p := range []string{m.File, "./" + m.File, filepath.Join(s.dir, "_overlay", m.File)} {
				if bad[fmt.Sprintf("%s:%d", p, m.Line)] {
					return true
				}
			}
			return false
		})
		if len(s.list) == before {
			return fmt.Errorf("the mutated source does not build: %w\n%s", err, out)
		}
		fmt.Fprintf(os.Stderr, "%d mutants do not compile\n", before-len(s.list))
	}
}

// trace runs all programs without a mutant and notes what they reach.
func (s *state) trace(ctx context.Context) error {
	var mu sync.Mutex
	byNumber := map[int]*Mutant{}
	for _, m := range s.list {
		byNumber[m.Number] = m
	}
	atStart := map[int]bool{}
	errs := make([]error, s.jobs)
	var wg sync.WaitGroup
	for j := range s.jobs {
		wg.Go(func() {
			var programs []int64
			for k := j; k < s.programs; k += s.jobs {
				programs = append(programs, int64(k))
			}
			errs[j] = s.ask(ctx, -1, 0, programs, func(l verdict.Line) {
				mu.Lock()
				defer mu.Unlock()
				if l.Judge != "" {
					fmt.Fprintf(os.Stderr, "program %d is left out: %s: %s\n", l.Program, l.Judge, l.Finding)
					return
				}
				if l.Program != verdict.Start {
					s.prints[l.Program] = l.Print
				}
				for _, n := range l.Reached {
					if l.Program == verdict.Start {
						atStart[n] = true
					} else if m := byNumber[n]; m != nil {
						m.programs = append(m.programs, l.Program)
					}
				}
			})
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, m := range s.list {
		if atStart[m.Number] { // it may change a table that any program reads
			m.programs = slices.Collect(maps.Keys(s.prints))
		}
		slices.Sort(m.programs)
		m.Reached = len(m.programs)
	}
	fmt.Fprintf(os.Stderr, "%d programs traced\n", len(s.prints))
	return nil
}

// ask runs the judge and calls see with each line of its answer.
func (s *state) ask(ctx context.Context, mutant, cpu int, programs []int64, see func(verdict.Line)) error {
	var list []string
	for _, k := range programs {
		list = append(list, strconv.FormatInt(k, 10))
	}
	cmd := exec.CommandContext(ctx, s.judge, "-programs", strings.Join(list, ","), "-cpu", strconv.Itoa(cpu),
		"-trace="+strconv.FormatBool(mutant < 0))
	cmd.Env = append(os.Environ(), "ZINC_MUTANT="+strconv.Itoa(mutant), "GOMAXPROCS=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	d := json.NewDecoder(bufio.NewReader(out))
	for {
		var l verdict.Line
		if d.Decode(&l) != nil {
			break // the end, or a line that is cut off, which Wait explains
		}
		see(l)
	}
	if err := cmd.Wait(); err != nil {
		first, _, _ := strings.Cut(stderr.String(), "\n")
		return fmt.Errorf("%w: %s", err, first)
	}
	return ctx.Err()
}

// tryAll judges every mutant, until ctx ends.
func (s *state) tryAll(ctx context.Context) {
	begin, done := time.Now(), 0
	var mu sync.Mutex
	next := make(chan *Mutant)
	var wg sync.WaitGroup
	for range s.jobs {
		wg.Go(func() {
			for m := range next {
				s.try(ctx, m)
				m.judged = ctx.Err() == nil
				mu.Lock()
				if m.judged && m.Changed && m.KilledBy == "" {
					fmt.Fprintf(os.Stderr, "%d survived: %s\n", m.Number, m.Place)
				}
				done++
				if done%50 == 0 {
					left := time.Duration(float64(time.Since(begin)) / float64(done) * float64(len(s.list)-done))
					fmt.Fprintf(os.Stderr, "%d of %d mutants, about %s left\n", done, len(s.list),
						left.Round(time.Second))
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range s.list {
		if ctx.Err() != nil {
			break
		}
		next <- m
	}
	close(next)
	wg.Wait()
}

// try judges a mutant: first by the programs that reach it, then by tests.
func (s *state) try(ctx context.Context, m *Mutant) {
	// The judge needs a fraction of a second for these programs without a mutant.
	const cpu = 60
	programs := spread(m.programs, s.most)
	for range 2 {
		if len(programs) == 0 {
			break
		}
		err := s.ask(ctx, m.Number, cpu, programs, func(l verdict.Line) {
			if l.Program == verdict.Start {
				return
			}
			m.Changed = m.Changed || l.Print != s.prints[l.Program]
			if l.Judge != "" {
				m.KilledBy, m.How = "program: "+l.Judge, fmt.Sprintf("program %d: %s", l.Program, l.Finding)
			}
		})
		if err != nil && ctx.Err() == nil {
			m.KilledBy, m.How = "program: end of the process", err.Error()
		}
		if m.KilledBy != "" {
			m.Changed = true
			return
		}
		if !m.Changed {
			break
		}
		tried := map[int64]bool{}
		for _, k := range programs {
			tried[k] = true
		}
		rest := slices.DeleteFunc(slices.Clone(m.programs), func(k int64) bool { return tried[k] })
		programs = spread(rest, 4*s.most)
	}
	if s.tests {
		s.test(ctx, m)
	}
}

// spread returns at most n elements of a list, evenly spread over it.
func spread(list []int64, n int) []int64 {
	if len(list) <= n {
		return list
	}
	var some []int64
	for i := range n {
		some = append(some, list[i*len(list)/n])
	}
	return some
}

// test runs the tests of the mutant's package, and then of holders.
func (s *state) test(ctx context.Context, m *Mutant) {
	own := "./" + filepath.ToSlash(filepath.Dir(m.File))
	list := []string{own}
	for _, p := range holders {
		if p != own && m.Changed {
			list = append(list, p)
		}
	}
	for _, p := range list {
		path, err := s.testBinary(ctx, p)
		if err != nil || path == "" {
			continue
		}
		cmd := exec.CommandContext(ctx, "bash", "-c",
			"ulimit -t 300; exec \"$0\" -test.short -test.failfast -test.timeout 0", path)
		cmd.Dir = filepath.Join(s.root, p)
		cmd.Env = append(os.Environ(), "ZINC_MUTANT="+strconv.Itoa(m.Number))
		out, err := cmd.CombinedOutput()
		if err != nil && ctx.Err() == nil {
			m.KilledBy, m.How = "test of "+p, firstFailure(out, err)
			return
		}
	}
}

// testBinary returns the test of a package, built with the overlay, or "" if it fails without a mutant.
func (s *state) testBinary(ctx context.Context, pkg string) (string, error) {
	s.mu.Lock()
	b := s.binary[pkg]
	if b == nil {
		b = &testBinary{}
		s.binary[pkg] = b
	}
	s.mu.Unlock()
	b.once.Do(func() {
		path := filepath.Join(s.dir, strings.ReplaceAll(strings.TrimPrefix(pkg, "./"), "/", "-")+".test")
		build := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", s.overlay, "-o", path, pkg)
		out, err := build.CombinedOutput()
		if err != nil {
			b.err = fmt.Errorf("%s: %w\n%s", pkg, err, out)
			fmt.Fprintln(os.Stderr, b.err)
			return
		}
		cmd := exec.CommandContext(ctx, path, "-test.short")
		cmd.Dir = filepath.Join(s.root, pkg)
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "the tests of %s fail without a mutant and are left out: %s\n", pkg,
				firstFailure(out, err))
			return
		}
		b.path = path
	})
	return b.path, b.err
}

// firstFailure returns the name of the first test that failed, or the error of the process.
func firstFailure(out []byte, err error) string {
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); ok {
			name, _, _ = strings.Cut(name, " ")
			return name
		}
		if strings.HasPrefix(line, "panic: ") {
			return strings.TrimSpace(line)
		}
	}
	return err.Error()
}

// write writes one line of JSON for each mutant into mutants.json.
func (s *state) write() error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for _, m := range s.list {
		if err := e.Encode(m); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(s.dir, "mutants.json"), b.Bytes(), 0o666)
}

// print prints the counts, and the mutants that change bytes or results and survive. It returns how many per cent of
// those that change something were killed.
func (s *state) print() float64 {
	counts := map[string]int{}
	killed, changed, survived := 0, 0, 0
	for _, m := range s.list {
		switch {
		case m.KilledBy != "":
			killed++
			counts["killed by "+m.KilledBy]++
		case m.Changed:
			survived++
			fmt.Printf("survived: %s (%d programs)\n", m.Place, m.Reached)
		case m.Reached > 0:
			counts["reached, no byte or number changes"]++
		default:
			counts["not reached by a program or a test"]++
		}
		if m.Changed || m.KilledBy != "" {
			changed++
		}
	}
	for _, c := range slices.Sorted(maps.Keys(counts)) {
		fmt.Printf("%6d  %s\n", counts[c], c)
	}
	fmt.Printf("%6d  change bytes or results and survive\n", survived)
	rate := 100 * float64(killed) / float64(max(changed, 1))
	fmt.Printf("%d mutants, %d killed; of the %d that change bytes, results or a test %.1f %% are killed\n",
		len(s.list), killed, changed, rate)
	return rate
}
