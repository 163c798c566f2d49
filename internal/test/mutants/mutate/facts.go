package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/zinc-compiler/zinc/internal/test/facts"
	"github.com/zinc-compiler/zinc/internal/test/mutants"
)

// factMutant is a mutant of a fact and what became of it.
type factMutant struct {
	*facts.Fact
	site   *mutants.Site
	number int
	script string // its name
	failed string // what the fact's script reports; "" if the mutant survives
}

// runFacts builds the mutants of the facts that match and runs the script of each fact under its mutants, all of which
// must fail there.
func runFacts(ctx context.Context, o options) error {
	dir, err := filepath.Abs(filepath.Join(o.dir, "facts"))
	if err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	all, err := facts.Read(filepath.FromSlash(facts.Dir))
	if err != nil {
		return err
	}
	var list []*factMutant
	var named []mutants.Named
	for _, f := range all {
		for _, m := range f.Mutants {
			if o.match != nil && !o.match.MatchString(f.Line+" "+f.Place+": "+f.What+" "+m.File) {
				continue
			}
			list = append(list, &factMutant{Fact: f, number: len(list) + 1})
			named = append(named, mutants.Named(m))
		}
	}
	source, err := mutants.LoadNamed(root, named)
	if err != nil {
		return err
	}
	numbers := map[*mutants.Site]int{}
	for i, m := range list {
		m.site = source.Sites[i]
		numbers[m.site] = m.number
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	overlay, err := source.Overlay(filepath.Join(dir, "_overlay"), numbers)
	if err != nil {
		return err
	}
	test := filepath.Join(dir, "cli.test")
	const pkg = "./cmd/zinc/cli"
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", test, pkg)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("the mutated source does not build: %w\n%s", err, out)
	}
	scripts := filepath.Join(dir, "scripts")
	if err := os.MkdirAll(scripts, 0o777); err != nil {
		return err
	}
	for _, m := range list {
		m.script = strings.NewReplacer(".txtar", "", ":", "-").Replace(m.Line)
		if err := os.WriteFile(filepath.Join(scripts, m.script+".txtar"), m.Script(), 0o666); err != nil {
			return err
		}
	}
	// run runs the scripts that match as a mutant.
	run := func(number int, match string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, test, "-test.run", "^TestFacts$/^"+match+"$", "-facts", scripts)
		cmd.Dir = filepath.Join(root, pkg)
		cmd.Env = append(os.Environ(), fmt.Sprint("ZINC_MUTANT=", number))
		return cmd.CombinedOutput()
	}
	if out, err := run(0, ".*"); err != nil {
		return fmt.Errorf("the scripts of single facts fail without a mutant: %w\n%s", err, out)
	}
	next := make(chan *factMutant)
	var wg sync.WaitGroup
	for range o.jobs {
		wg.Go(func() {
			for m := range next {
				if out, err := run(m.number, m.script); err != nil {
					m.failed = reason(out, err)
				}
			}
		})
	}
	for _, m := range list {
		next <- m
	}
	close(next)
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	survived := 0
	for _, m := range list {
		what := m.failed
		if what == "" {
			what = "SURVIVES"
			survived++
		}
		fmt.Printf("%s: %s: %s\n", m.Line, m.Place, m.What)
		fmt.Printf("\t%s:%d: %s\n\t%s\n", m.site.File, m.site.Line, m.site.Text, what)
	}
	fmt.Printf("%d facts, %d mutants of them, %d survive\n", len(all), len(list), survived)
	if survived > 0 {
		return fmt.Errorf("%d mutants of facts survive the scripts of their facts", survived)
	}
	return nil
}

// reason returns the line of a failed script that says why.
func reason(out []byte, err error) string {
	for line := range strings.Lines(string(out)) {
		if _, why, ok := strings.Cut(line, "FAIL: "); ok && strings.Contains(why, ".txtar:") {
			return strings.TrimSpace(why[strings.LastIndex(why, "/")+1:])
		}
	}
	return err.Error()
}
