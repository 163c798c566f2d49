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
	"github.com/zinc-compiler/zinc/reduce"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// maxRuns bounds the trials of one reduction.
const maxRuns = 2000

// Reduce shrinks the program of a finding to a small one about which the same judge disagrees. It returns p itself if
// the finding does not show again.
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
				// What is cut out of a program may round where the program itself did not.
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

// kind is what distinguishes findings of one judge: the start of a message, which names no value.
func kind(err error) string {
	s, _, _ := strings.Cut(err.Error(), ":")
	if strings.Contains(s, "element") {
		return "output"
	}
	return s
}

// maxExact bounds the magnitude of numbers all of whose halves and quarters fp16 holds.
const maxExact = 512

// RoundsNowhere reports whether every number that the interpreter computes is a multiple of a quarter and small, so
// that sums and products of them round nowhere.
func RoundsNowhere(ctx context.Context, p *ir.Program, in map[string]interp.Tensor) bool {
	for _, f := range p.Funcs {
		exact := true
		look := func(_ *ir.Op, ys []interp.Tensor) {
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

// Keep writes the program of a finding to a museum's folder, with a comment that says what was found.
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
