package cli

import (
	"context"
	"path/filepath"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
)

// compileModel compiles the model at path to a pair, or takes the pair from the cache.
func (c *compileCommand) compileModel(ctx context.Context, path string) error {
	to, err := c.pairPaths(c.out, path)
	if err != nil {
		return err
	}
	if c.out == stdoutName && c.reports.stdout() != nil {
		return usagef("-o - and --report would both write to standard output")
	}
	kept, err := c.slot(ctx, c.env, path)
	if err != nil {
		return err
	}
	if done, err := c.fromCache(ctx, kept, path, to); done || err != nil {
		return err
	}
	m, err := c.open(c.env, path)
	if err != nil {
		return err
	}
	defer m.Close()
	c.tellUncached(c.env)
	if err := c.apart(to, m.Path); err != nil {
		return err
	}
	c.provenance = c.debug != ""
	if c.reports.list != nil {
		c.plans = forecastDefault.forecasts(ctx, m.Program, &c.compileFlags)
	}
	stored := c.storing(to.Container)
	defer stored.close()
	r, err := c.compile(ctx, c.env, m, c.pairSink(stored))
	if err == nil && c.prove {
		err = c.proved(ctx, r, c.workers)
	}
	if err == nil {
		err = c.judge(ctx, m, r)
	}
	if err != nil {
		return err
	}
	files := stored.files(r, to)
	if c.debug != "" {
		files = append(files, atomicfile.File{Path: c.debug, Write: r.Provenance.Write})
	}
	var p pair.Pair
	if c.dryRun {
		kept = nil
	}
	if kept != nil {
		if p, err = kept.putResult(c.env, r, stored); err != nil {
			return err
		}
	}
	if err := c.write(ctx, files, c.reports.files(c.doc)); err != nil {
		return err
	}
	kept.upload(ctx, c.env, p)
	return c.tell()
}

// apart returns an error if one of the files to be written is the text of the model or another of them.
func (c *compileCommand) apart(to pair.Paths, model string) error {
	if sameFile(to.Container, model) || sameFile(to.Descriptor, model) {
		return usagef("-o %s would replace the model's own text", c.out)
	}
	if d := filepath.Clean(c.debug); c.debug != "" && (d == filepath.Clean(to.Container) ||
		d == filepath.Clean(to.Descriptor) || sameFile(d, model)) {
		return usagef("--debug-db %s would replace the pair or the model's own text", c.debug)
	}
	return c.reports.apart(to.Container, to.Descriptor, c.debug, model)
}

// sink keeps what the flags look at.
func (c *compileCommand) sink(r *compile.Result) compile.Sink {
	switch {
	case c.prove:
		return r.All()
	case c.reports.list != nil || len(c.budgets.limits) > 0:
		return r.Reported()
	}
	return r.Files()
}

// judge checks the budgets and sets the document of a compilation.
func (c *compileCommand) judge(ctx context.Context, m *frontend.Model, r *compile.Result) error {
	ran, err := c.budgets.run(ctx, &c.compileFlags, c.env, c.path)
	if err != nil {
		return err
	}
	judged, err := c.budgets.judge(ctx, &c.compileFlags, c.env, r.Report)
	if err != nil {
		return err
	}
	c.doc = &report.Document{
		Model:      filepath.ToSlash(m.Path),
		Report:     r.Report,
		Violations: append(judged, ran...),
		CoreML:     report.NewCoreML(c.plans, r.Report),
	}
	if c.flags != nil {
		c.doc.Explain = newExplains(c.path, c.flags, r.Report).Command
	}
	return nil
}

// fromCache writes a pair from the cache, unless the flags require a compilation.
func (c *compileCommand) fromCache(ctx context.Context, kept *slot, path string, to pair.Paths) (done bool,
	err error) {
	if kept == nil || c.reports.list != nil || len(c.budgets.limits) > 0 || c.debug != "" || c.prove ||
		c.looks() {
		return false, nil
	}
	if err := c.replaces(c.env, path, path, "-o "+c.out, atomicfile.File{Path: to.Container},
		atomicfile.File{Path: to.Descriptor}); err != nil {
		return false, err
	}
	files, ok := kept.files(ctx, c.env, to.Container)
	if !ok {
		return false, nil
	}
	return true, c.write(ctx, files, nil)
}
