// Judge asks the judges of package difftest about generated programs and prints one line of JSON for each: a hash of
// the bytes and numbers, and what a judge found. It is built with the overlay of package mutants.
//
// With -trace it also prints the mutants that each program reaches. Without it, it stops at the first finding.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/internal/test/difftest"
	"github.com/zinc-compiler/zinc/internal/test/mutants/active"
	"github.com/zinc-compiler/zinc/internal/test/mutants/verdict"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

func main() {
	trace := flag.Bool("trace", false, "print the mutants that each program reaches")
	programs := flag.String("programs", "", "numbers of programs, separated by commas")
	cpu := flag.Uint64("cpu", 60, "limit of processor time in seconds; 0 for none")
	flag.Parse()
	if err := run(*programs, *trace, *cpu); err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(1)
	}
}

func run(programs string, trace bool, cpu uint64) error {
	if cpu > 0 {
		if err := limit(cpu); err != nil {
			return err
		}
	}
	debug.SetGCPercent(600)
	debug.SetMemoryLimit(2 << 30)
	h := sha256.New()
	difftest.Judges = append([]difftest.Judge{{
		Name: "print",
		Disagrees: func(ctx context.Context, p *difftest.Pair) error {
			return fingerprint(ctx, h, p)
		},
	}}, difftest.Judges...)
	out := json.NewEncoder(os.Stdout)
	started := verdict.Line{Program: verdict.Start}
	if trace {
		started.Reached = active.Reached()
	}
	if err := out.Encode(started); err != nil {
		return err
	}
	for field := range strings.SplitSeq(programs, ",") {
		k, err := strconv.ParseUint(field, 10, 63)
		if err != nil {
			return err
		}
		h.Reset()
		p, s := difftest.Trial(k, target.Default)
		_, err = difftest.Disagreement(context.Background(), p.IR, s)
		line := verdict.Line{Program: int64(k), Print: hex.EncodeToString(h.Sum(nil)[:8])}
		if f := (*difftest.Finding)(nil); errors.As(err, &f) {
			line.Judge, line.Finding = f.Judge, f.Err.Error()
		} else if err != nil {
			line.Judge, line.Finding = "error", err.Error()
		}
		if trace {
			line.Reached = active.Reached()
		}
		if err := out.Encode(line); err != nil {
			return err
		}
		if line.Judge != "" && !trace {
			return nil
		}
	}
	return nil
}

// fingerprint adds the bytes of a pair, and the results of the engine and the interpreter, to a hash.
func fingerprint(ctx context.Context, h hash.Hash, p *difftest.Pair) error {
	q := p.Machine.Pair()
	for _, b := range [][]byte{q.Container, q.Descriptor} {
		h.Write(b)
	}
	inputs, err := randomInputs(p)
	if err != nil {
		return nil // verify finds it as well, and says more
	}
	for i, name := range p.Machine.Functions() {
		if i > 0 || p.Machine.Select(name) != nil {
			break
		}
		got, err := p.Machine.Run(ctx, inputs, sim.Options{Numerics: p.Numerics})
		add(h, got, err)
		p.Machine.Reset()
	}
	want, err := interp.Run(ctx, p.Result.Reference, inputs, interp.Options{Numerics: p.Numerics})
	add(h, want, err)
	return nil
}

// randomInputs returns the inputs of the function that runs by default.
func randomInputs(p *difftest.Pair) (map[string]interp.Tensor, error) {
	inputs := maps.Clone(p.Inputs)
	if inputs == nil {
		inputs = map[string]interp.Tensor{}
	}
	for _, v := range p.Result.Reference.Body.Params {
		if _, ok := inputs[v.Name]; ok {
			continue
		}
		t, err := verify.Random(v.Type, v.Name, p.Seed)
		if err != nil {
			return nil, err
		}
		inputs[v.Name] = t
	}
	return inputs, nil
}

// add adds tensors to a hash in the order of their names.
func add(h hash.Hash, tensors map[string]interp.Tensor, err error) {
	if err != nil {
		fmt.Fprint(h, err)
	}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		fmt.Fprint(h, name, tensors[name].Type, tensors[name].Strings)
		h.Write(tensors[name].Data)
	}
}
