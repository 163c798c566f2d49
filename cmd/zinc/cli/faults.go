package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/inspect/dump"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// runFault returns err, from a run of the pair or the compiled model at path, with the statement that failed. If the
// engine faulted on a model and no faults were injected, that is a bug in zinc.
func (c *pairCommand) runFault(ctx context.Context, path string, compiled bool, inputs []string, err error) error {
	fault := errors.As(err, new(*engine.Fault))
	switch {
	case err == nil || !fault && !errors.As(err, new(*interp.Error)):
		return err
	case compiled && fault:
		return c.pairFault(path, err)
	case compiled || fault && c.inject != "":
		return err
	}
	quiet := c.silent()
	m, e := c.open(quiet, path)
	if e != nil {
		return errors.Join(err, e)
	}
	defer m.Close()
	if !fault {
		return c.located(m, inputs, err)
	}
	// The model is compiled again: a pair from the cache has no record of its tasks.
	files := m.Program.Files
	r, e := c.compile(ctx, quiet, m, (*compile.Result).All)
	if e != nil {
		return &internalError{err: err}
	}
	return &internalError{err: verify.EngineFault(r, files, err)}
}

// pairFault adds the statement of the task at which the engine faulted, if the debug database of the pair has it.
func (c *pairCommand) pairFault(path string, err error) error {
	f, at := (*engine.Fault)(nil), (*sim.OpError)(nil)
	if !errors.As(err, &f) || !errors.As(err, &at) {
		return err
	}
	p, e := c.read(path)
	if e != nil {
		return err
	}
	db, e := (&dump.Options{Name: flagName}).OpenDebug(pair.PathsOf(path).Container, p.Container)
	if e != nil {
		return err // it may not be there
	}
	i := slices.IndexFunc(db.Tasks, func(t provenance.Task) bool {
		return int(t.Index) == f.Task && db.Procedures[t.Procedure].Name == at.Procedure
	})
	if i < 0 {
		return err
	}
	lines := db.SourceLines(db.Source(db.Tasks[i].Ref()), 0)
	return fmt.Errorf("%w\n%s", err, strings.Join(lines, "\n"))
}

// located returns err, from a run of the model, as a diagnostic of the statement that the interpreter refused. given
// are the values of --input; other inputs had random numbers.
func (c *compileFlags) located(m *frontend.Model, given []string, err error) error {
	x := (*interp.Error)(nil)
	if !errors.As(err, &x) || m.Source == nil || !x.Pos.IsValid() {
		return err
	}
	at := m.Source.At(int(x.Pos.Line), int(x.Pos.Col))
	span := diag.Span{File: m.Source, Start: at, End: at + diag.Pos(len(x.Op))}
	var list diag.List
	d := list.Errorf(span, "run", x.Op, "%s: %s", x.Name, x.Msg)
	if hint := cmp.Or(flagHint(err), c.shapeHint(m.Program), indexHint(m.Program, given)); hint != "" {
		d.WithHint("%s", hint)
	}
	return list.Err()
}

// indexHint says how to choose the integers that were random, "" if there are none. Random positions and lengths seldom
// belong together.
func indexHint(p *ir.Program, given []string) string {
	var names, flags []string
	for _, f := range p.Funcs {
		for _, v := range f.Body.Params {
			chosen := slices.ContainsFunc(given, func(s string) bool { return strings.HasPrefix(s, v.Name+"=") })
			if !chosen && v.Type.Kind == ir.Tensor && v.Type.DType.IsInt() && !slices.Contains(names, v.Name) {
				names, flags = append(names, v.Name), append(flags, "--input "+v.Name+"=FILE.npy")
			}
		}
	}
	if names == nil {
		return ""
	}
	return "the integers of " + strings.Join(names, ", ") + " are random; set ones that belong together with " +
		strings.Join(flags, " ")
}

// shapeHint says how to choose another shape of the inputs whose shape is open and was not chosen, "" if there are
// none.
func (c *compileFlags) shapeHint(p *ir.Program) string {
	sets, err := parseShapes(c.shapes)
	if err != nil {
		return ""
	}
	chosen := map[string]bool{}
	for _, set := range sets {
		for name := range set {
			chosen[name] = true
		}
	}
	var flags []string
	seen := map[string]bool{}
	for _, f := range p.Funcs {
		for _, v := range f.Body.Params {
			if chosen[v.Name] || seen[v.Name] || v.Type.Kind != ir.Tensor || v.Type.Static() {
				continue
			}
			seen[v.Name] = true
			flags = append(flags, shapeFlag(v.Name, v.Type))
		}
	}
	if flags == nil {
		return ""
	}
	return "the shape of an input is open; choose one with " + strings.Join(flags, " ")
}

// shapeFlag is the flag that chooses the shape of an input: N is an open dimension.
func shapeFlag(name string, t ir.Type) string { return "--shape " + shapeValue(name, t.Shape) }

// shapeValue returns the value of --shape that sets a shape, with N for what is unknown.
func shapeValue(name string, shape []int64) string {
	var dims []string
	for _, d := range shape {
		if d == ir.Unknown {
			dims = append(dims, "N")
		} else {
			dims = append(dims, fmt.Sprint(d))
		}
	}
	return name + "=" + strings.Join(dims, "x")
}
