package compile

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hazard"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
)

// FaultError reports a compiled pair that fails one of zinc's own checks: a bug in zinc, not in the program. No Result
// is returned with it.
type FaultError struct {
	Check string // what refuses it
	// Where names the statement whose task is wrong, with its position in the source if that is known; "" if no single
	// task is wrong.
	Where string
	Err   error

	hazard *hazard.Finding // what the hazard check found, nil for another check
}

// Error names the check, the statement and what was found.
func (e *FaultError) Error() string {
	s := e.Check + " refuses the compiled pair: "
	if e.Where != "" {
		s += e.Where + ": "
	}
	return s + e.Err.Error()
}

// Unwrap returns what the check found.
func (e *FaultError) Unwrap() error { return e.Err }

// Panic is the value of a panic raised after the passes, as it is passed on.
type Panic struct{ Value any }

func (p *Panic) Error() string { return fmt.Sprintf("after the passes: %v", p.Value) }

// LastPass returns the last pass that was completed before a compilation failed inside zinc: err is the fault or wraps
// it. It is "" if err is not from a compilation, or if it is from the first pass.
func LastPass(err error) string {
	names := passes.Names()
	if p := (*passes.Panic)(nil); errors.As(err, &p) {
		if i := slices.Index(names, p.Pass); i > 0 {
			return names[i-1]
		}
		return ""
	}
	for _, backend := range []any{new(*Panic), new(*FaultError), new(*lower.Error), new(*hwx.BuildError),
		new(*e5.ModelError)} {
		if errors.As(err, backend) {
			return names[len(names)-1]
		}
	}
	return ""
}

// check runs the hazard check and the checks of both loaders, which check the container too. It works on what is about
// to be written: it encodes nothing and copies no constant.
func (d *driver) check(f *hwx.File, p *e5.Program) error {
	if err := checkContainer(f); err != nil {
		if h := err.hazard; h != nil {
			err.Where = d.statementOf(h.Procedure, h.Task)
		}
		return err
	}
	if err := sim.Check(f, p, d.hash); err != nil {
		return &FaultError{Check: "the runtime's loader", Err: err}
	}
	return nil
}

// checkContainer runs the checks that need only a container.
func checkContainer(f *hwx.File) *FaultError {
	r, err := hazard.Check(f)
	if err != nil {
		return &FaultError{Check: "the hazard check", Err: err}
	}
	if n := len(r.Hazards); n > 0 {
		h := &r.Hazards[0]
		err := errors.New(h.String())
		if n > 1 {
			err = fmt.Errorf("%w (and %d more)", err, n-1)
		}
		return &FaultError{Check: "the hazard check", Err: err, hazard: h}
	}
	if err := loader.Check(f); err != nil {
		return &FaultError{Check: "the container's loader", Err: err}
	}
	return nil
}

// statementOf names the statement that a task of a procedure was lowered from: the leading statement if there are
// several.
func (d *driver) statementOf(procedure string, task int) string {
	for _, u := range d.units {
		for _, p := range u.procs {
			if p.Name != procedure || task >= len(p.Infos) || p.Infos[task].Op == nil {
				continue
			}
			op := p.Infos[task].Op
			s := op.Results[0].Name + " = " + op.Def.Name
			if place := u.state.Program.PosString(op.Pos); place != "" {
				s = place + ": " + s
			}
			return s
		}
	}
	return ""
}
