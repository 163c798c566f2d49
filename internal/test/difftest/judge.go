package difftest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/analysis/prove"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/build"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// Settings say how a program is compiled and run.
type Settings struct {
	Compile  compile.Options
	Numerics numerics.Mode // of the simulated engine
	Seed     uint64        // of the inputs
	Inputs   map[string]interp.Tensor
	Exact    bool // no correct run rounds anything on Inputs, so outputs must be equal bit for bit
	// Verified is called with each result of verify. It may be nil.
	Verified func(r *verify.Result)
	// NotConcluded is called with the cause if a proof is not concluded. It may be nil.
	NotConcluded func(cause string)
}

// Pair is a compiled program as the judges see it.
type Pair struct {
	Settings
	Source *ir.Program // as it was compiled; judges must not change it
	Result *compile.Result
	// Machine has the pair opened from its bytes, Machine.Pair.
	Machine *sim.Machine
}

// A Judge compares a pair with its source.
type Judge struct {
	Name string
	// Disagrees returns how the pair differs from its source, or nil if it does not.
	Disagrees func(ctx context.Context, p *Pair) error
}

// Judges are asked in this order; the first one that disagrees ends the trial.
var Judges = []Judge{
	{"run", disagreesWithInterpreter},
	{"prove", notProved},
}

// Finding is a disagreement.
type Finding struct {
	// Judge is the name of the judge, or the stage that failed before a judge could be asked: "text", "compile",
	// "open", or "panic" at any time.
	Judge string
	Err   error
}

// Error names the judge and what it found.
func (f *Finding) Error() string { return f.Judge + ": " + f.Err.Error() }

// Unwrap returns what was found.
func (f *Finding) Unwrap() error { return f.Err }

// Disagreement compiles a program and asks every judge. It returns the compilation, or nil if there is none, and a
// *Finding or the context's error. p is not changed.
func Disagreement(ctx context.Context, p *ir.Program, s Settings) (r *compile.Result, err error) {
	stage := "text"
	defer func() {
		if v := recover(); v != nil {
			err = &Finding{"panic", fmt.Errorf("%s: %v", stage, v)}
		}
		if ctx.Err() != nil {
			err = ctx.Err()
		}
	}()
	source, err := fromText(p)
	if err != nil {
		return nil, &Finding{stage, err}
	}
	stage = "compile"
	if r, err = compile.All(ctx, ir.CloneProgram(source), s.Compile); err != nil {
		return nil, &Finding{stage, err}
	}
	stage = "open"
	m, err := verify.Open(r)
	if err != nil {
		return r, &Finding{stage, err}
	}
	for _, j := range Judges {
		stage = j.Name
		if err := j.Disagrees(ctx, &Pair{Settings: s, Source: source, Result: r, Machine: m}); err != nil {
			return r, &Finding{stage, err}
		}
	}
	return r, nil
}

// Limited returns an error if an operation is on the CPU and its refusal names no limit.
func Limited(r *compile.Report) error {
	for _, o := range r.Ops {
		if o.Unit != ir.CPU.String() {
			continue
		}
		no := o.Refusal
		if no == nil || no.Limit == "" || no.Rule == target.RuleOther || no.Rule == target.RuleNoLowering {
			return fmt.Errorf("%s %s is on the CPU and its refusal names no limit: %s", o.Op, o.Name, o.Reason)
		}
	}
	return nil
}

// fromText writes a program as MIL text and reads it again, as a user's model is read. A program with large constants,
// which would need a weight file, stays as it is.
func fromText(p *ir.Program) (*ir.Program, error) {
	t, err := unbuild.Program(p, "weight.bin")
	if err != nil {
		return nil, fmt.Errorf("the program cannot be written: %w", err)
	}
	if len(t.Blobs) > 0 {
		return p, nil
	}
	tree, list := mil.Parse("main.mil", t.MIL)
	if list.HasErrors() {
		return nil, fmt.Errorf("the program's text does not parse: %w", list.Err())
	}
	q, list := build.Program(tree, nil, build.Options{})
	if list.HasErrors() {
		return nil, fmt.Errorf("the program's text is refused: %w", list.Err())
	}
	return q, nil
}

// disagreesWithInterpreter runs the pair on the simulator and the source on the interpreter.
func disagreesWithInterpreter(ctx context.Context, p *Pair) error {
	r, err := verify.Check(ctx, p.Result, p.Machine, p.Source.Files, verify.Options{
		Seed:     p.Seed,
		Numerics: p.Numerics,
		Workers:  1,
		Inputs:   p.Inputs,
		Exact:    p.Exact,
	})
	if err == nil && p.Verified != nil {
		p.Verified(r)
	}
	if err != nil || r.Verdict != verify.Fail {
		return err
	}
	var wrong []string
	for _, o := range r.Outputs {
		if o.Verdict == verify.Fail {
			wrong = append(wrong, fmt.Sprintf("%s %s: %s", o.Name, o.Type, o.Why))
		}
	}
	return errors.New(strings.Join(wrong, "; "))
}

// notProved proves the pair. A proof that cannot conclude is no disagreement.
func notProved(ctx context.Context, p *Pair) error {
	r, err := prove.Pair(ctx, p.Machine, verify.Provable(p.Result), prove.Options{Seed: p.Seed, Workers: 1})
	if err != nil {
		return err
	}
	if cause := notConcluded(r); cause != "" && p.NotConcluded != nil {
		p.NotConcluded(cause)
	}
	if r.Verdict == prove.Open {
		return nil
	}
	return r.Err()
}

// notConcluded returns the first reason why a proof is not concluded, "" if it is.
func notConcluded(r *prove.Result) string {
	for _, f := range r.Functions {
		if f.Verdict == prove.Open {
			return strings.Join(f.Reasons, "; ")
		}
		for _, s := range f.Source.Statements {
			if s.Verdict == prove.Open {
				return s.Statement + ": " + s.Why
			}
		}
	}
	return ""
}
