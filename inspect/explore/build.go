package explore

import (
	"context"

	"github.com/zinc-compiler/zinc/analysis/coreml"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/passes"
)

// build compiles a configuration. Errors in the text are part of the view; a returned error is a limit, or a fault of
// the machine or of zinc.
func (s *Server) build(ctx context.Context, m *model, c Config, key string) (v *view, err error) {
	leave, err := s.gate.enter(ctx, "compiling")
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, stop, explain := s.limits.guard(ctx, "compiling")
	defer stop()
	v = &view{key: key, model: m, config: c}
	defer func() {
		if err != nil {
			v.close()
			v = nil
		}
	}()
	defer s.rescue("compiling "+m.Name, &err)
	if x := s.version(&c); x != nil {
		if err = explain(s.buildBy(ctx, v, x)); err != nil {
			return v, err
		}
		v.weigh()
		return v, nil
	}
	opened, err := m.open(c.Text)
	if err != nil {
		v.fail(err)
		return v, nil
	}
	defer opened.Close()
	for _, x := range opened.Missing {
		v.assumed = append(v.assumed, x.String())
	}
	if opened.Warnings.Warnings() > 0 {
		v.list = opened.Warnings
	}
	o, err := c.options(m.file)
	if err != nil {
		return v, err
	}
	// Before the compilation, which rewrites the program. A program without a forecast has none in its view.
	plans, _ := coreml.Functions(ctx, opened.Program, coreml.Options{Func: c.Func, Shapes: c.Shapes})
	what := map[string]string{}
	for _, p := range passes.List {
		what[p.Name] = p.Doc
	}
	obs := newObserver(what)
	o.Observe, o.Progress = obs.observe, telling(ctx)
	if !c.compiled() {
		v.placed = true
		err = compile.Compile(ctx, opened.Program, o, compile.Sink{Plan: compile.To(&v.report)})
		v.number(obs)
		if err = explain(err); err != nil {
			return v, v.stopped(err)
		}
		v.coreml = report.NewCoreML(plans, v.report)
		v.weigh()
		return v, nil
	}
	var r compile.Result
	if err = explain(compile.Compile(ctx, opened.Program, o, r.Reported())); err != nil {
		v.number(obs)
		return v, v.stopped(err)
	}
	v.db = r.Provenance
	v.number(obs)
	v.report = r.Report
	v.coreml = report.NewCoreML(plans, v.report)
	if v.files, err = s.spill(&r); err != nil {
		return v, &faultError{err}
	}
	v.codec, _ = td.CodecFor(r.HWX.TaskVersion())
	v.text = r.HWX.TextBytes()
	v.container = mapContainer(r.HWX, v.files.container.size)
	v.chain = chainOf(r.E5)
	v.pairOperations()
	if v.tasks, err = taskRows(v.db, r.Report.Each()); err != nil {
		return v, &faultError{err}
	}
	v.describeTasks(o.Target)
	v.weigh()
	return v, nil
}

// stopped makes a failed compilation a part of the view, unless a limit or a fault
// stopped it.
func (v *view) stopped(err error) error {
	if isLimit(err) || isFault(err) {
		return err
	}
	v.fail(err)
	return nil
}

// fail records what stopped the compilation.
func (v *view) fail(err error) {
	if l := diag.AsList(err); l != nil {
		v.list = l
		return
	}
	v.failure = err.Error()
}

// weigh estimates the memory of the view.
func (v *view) weigh() {
	n := int64(len(v.text)) + 64<<10
	if v.config.Text != nil {
		n += 2 * int64(len(*v.config.Text))
	}
	for _, s := range v.passes {
		if s.Changed {
			for i := range s.lines {
				n += int64(len(s.lines[i].Text)) + 100
			}
		}
	}
	n += int64(len(v.tasks))*320 + int64(len(v.statements))*100
	if v.db != nil {
		n += int64(len(v.db.Nodes))*48 + int64(len(v.db.Extents))*200
	}
	if v.files != nil {
		n += v.files.container.size + v.files.descriptor.size
	}
	v.size = n
}
