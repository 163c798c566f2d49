package difftest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

// maxRuns bounds the trials of one reduction.
const maxRuns = 2000

// Reduce shrinks the program of a finding to a small one about which the same judge disagrees. It returns p itself if
// the finding cannot be reproduced.
func Reduce(ctx context.Context, p *ir.Program, s Settings, found error) (*ir.Program, error) {
	want := (*Finding)(nil)
	if !errors.As(found, &want) {
		return p, reduce.ErrNotInteresting
	}
	r, err := reduce.Run(ctx, p, reduce.Options{
		Jobs:    1,
		MaxRuns: maxRuns,
		Interesting: func(ctx context.Context, c *reduce.Candidate) (bool, error) {
			q, t := c.Program(), s
			if t.Exact && t.Inputs != nil {
				t.Inputs = Integers(q, t.Seed, 3)
				// A part of a program may round although the whole program did not.
				t.Exact = c.Number == 1 || RoundsNowhere(ctx, q, t.Inputs)
				if c.Number == 1 {
					t.Inputs = s.Inputs
				}
			}
			got := (*Finding)(nil)
			_, err := Disagreement(ctx, q, t)
			return errors.As(err, &got) && got.Judge == want.Judge && kind(got.Err) == kind(want.Err), nil
		},
	})
	if err != nil {
		return p, err
	}
	return r.Program, nil
}

// kind distinguishes the findings of one judge: it is the start of a message, which names no value.
func kind(err error) string {
	s, _, _ := strings.Cut(err.Error(), ":")
	if strings.Contains(s, "element") {
		return "output"
	}
	return s
}

// maxExact bounds the magnitude of numbers whose halves and quarters are all exact in fp16.
const maxExact = 512

// RoundsNowhere reports whether every number that the interpreter computes is a small multiple of a quarter, so that
// their sums and products are not rounded.
func RoundsNowhere(ctx context.Context, p *ir.Program, in map[string]interp.Tensor) bool {
	for _, f := range p.Funcs {
		exact := true
		look := func(op *ir.Op, ys []interp.Tensor) {
			// A root of a sum may be exact although the roots that it is composed of are not.
			exact = exact && !op.Is(ir.OpL2Pool, ir.OpL2Norm, ir.OpReduceL2Norm)
			for _, y := range ys {
				if !y.Type.DType.IsFloat() {
					continue
				}
				for _, v := range y.Floats32() {
					exact = exact && math.Abs(float64(v)) <= maxExact && v*4 == float32(math.Trunc(float64(v*4)))
				}
			}
		}
		_, err := interp.Run(ctx, f, in, interp.Options{Numerics: numerics.IEEE, Trace: look})
		if err != nil || !exact {
			return false
		}
	}
	return true
}

// Keep writes the program of a finding to a folder of regressions, with a comment that says what was found.
func Keep(ctx context.Context, dir string, n uint64, p *ir.Program, found error) error {
	path := filepath.Join(dir, fmt.Sprintf("random-%d.mil", n))
	if _, err := reduce.Write(ctx, p, path); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for line := range strings.Lines(found.Error()) {
		fmt.Fprintf(&b, "// %s\n", strings.TrimRight(line, "\n"))
	}
	return os.WriteFile(path, append(b.Bytes(), text...), 0o666)
}
