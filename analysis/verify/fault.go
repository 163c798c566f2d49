package verify

import (
	"errors"
	"fmt"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
)

// FaultError reports that the simulator rejects, or faults on, a pair that zinc wrote.
type FaultError struct {
	Stage string
	Err   error
}

// Error returns the stage and the cause.
func (e *FaultError) Error() string { return e.Stage + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *FaultError) Unwrap() error { return e.Err }

// EngineFault converts err, returned by a run of the pair compiled in r. If err is an
// engine fault, it returns a FaultError that names the statement of the faulting task
// and its position in files, because no task that zinc writes may fault. It returns
// other errors unchanged.
func EngineFault(r *compile.Result, files []string, err error) error {
	f := (*engine.Fault)(nil)
	if !errors.As(err, &f) {
		return err
	}
	out := &FaultError{Stage: "simulated run", Err: f}
	if in := (*sim.OpError)(nil); errors.As(err, &in) {
		if op := taskOp(r, in.Procedure, f.Task); op != nil {
			where := fmt.Sprintf("%s = %s, procedure %s", op.Results[0].Name, op.Def.Name, in.Procedure)
			if place := (&ir.Program{Files: files}).PosString(op.Pos); place != "" {
				where = place + ": " + where
			}
			out.Err = fmt.Errorf("%s: %w", where, f)
		}
	}
	return out
}

// taskOp returns the operation that a task of a procedure was lowered from, or the
// leading operation if there are several. It returns nil if r has no such task.
func taskOp(r *compile.Result, procedure string, task int) *ir.Op {
	var infos []lower.TaskInfo
	for _, f := range r.Functions {
		for _, p := range f.Procedures {
			if p.Name == procedure {
				infos = p.Infos
			}
		}
	}
	if task < 0 || task >= len(infos) {
		return nil
	}
	return infos[task].Op
}
