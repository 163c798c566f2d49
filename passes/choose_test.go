package passes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// costs are the times of the operations of a random program by name, and those that the engine refuses.
type costs struct {
	engine, cpu map[string]int64
	refused     map[string]bool
	dispatch    int64
}

const costBandwidth = 16 // bytes per unit of time

func (c *costs) options(place string) passes.Options {
	name := func(op *ir.Op) string { return op.Results[0].Name }
	dispatch := func(in, out int64) int64 { return c.dispatch + (in+out)/costBandwidth }
	return passes.Options{
		Target: target.H13,
		Place:  place,
		Accept: func(op *ir.Op) (target.Acceptance, error) {
			if c.refused[name(op)] {
				return target.Acceptance{}, &target.Refusal{Rule: target.RuleNoCode, What: "x", Have: "y", Limit: "z",
					Reason: "refused"}
			}
			return target.Acceptance{Rule: "elementwise", Tasks: 1, Nanos: c.engine[name(op)]}, nil
		},
		CPUTime:      func(op *ir.Op) int64 { return c.cpu[name(op)] },
		DispatchTime: dispatch,
		CallTime: func(s *passes.State) (*passes.CallTime, error) {
			t := &passes.CallTime{Ops: map[*ir.Op]int64{}}
			for _, st := range s.Partitions {
				if st.Unit != ir.Engine {
					continue
				}
				bytes := func(vs []*ir.Value) (n int64) {
					for _, v := range vs {
						n += v.Type.Bytes()
					}
					return n
				}
				t.Total += dispatch(bytes(st.Inputs), bytes(st.Outputs))
				for _, op := range st.Ops {
					t.Ops[op] = c.engine[name(op)]
					t.Total += t.Ops[op]
				}
			}
			for _, op := range s.Func.Body.Ops {
				if op.Place.Unit == ir.CPU {
					t.Total += c.cpu[name(op)]
				}
			}
			return t, nil
		},
	}
}

// randomCosts returns the text of a program of n operations with one to three operands, and their costs.
func randomCosts(r *rand.Rand, n int) (string, *costs) {
	c := &costs{
		engine: map[string]int64{}, cpu: map[string]int64{}, refused: map[string]bool{}, dispatch: int64(r.IntN(120)),
	}
	var b strings.Builder
	b.WriteString("program \"1.3\"\n\nfunc %main \"ios18\"(%x0: tensor<fp16, [1, 64]>) {\n")
	read := map[int]bool{}
	recent := func(i int) int { return max(0, i-1-r.IntN(1+r.IntN(4))) }
	for i := 1; i <= n; i++ {
		x, y := recent(i), recent(i)
		read[x] = true
		name := fmt.Sprintf("x%d", i)
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, "  %%%s: tensor<fp16, [1, 64]> = sin(x = %%x%d)\n", name, x)
		} else {
			read[y] = true
			fmt.Fprintf(&b, "  %%%s: tensor<fp16, [1, 64]> = add(x = %%x%d, y = %%x%d)\n", name, x, y)
		}
		c.engine[name], c.cpu[name] = int64(r.IntN(60)), int64(r.IntN(60)*(1+r.IntN(3)))
		if r.IntN(5) == 0 {
			c.refused[name] = true
		}
	}
	var outs []string
	for i := 1; i <= n; i++ {
		if !read[i] {
			outs = append(outs, fmt.Sprintf("%%x%d", i))
		}
	}
	fmt.Fprintf(&b, "  return %s\n}\n", strings.Join(outs, ", "))
	return b.String(), c
}

// total returns what a call takes of a program that is placed in one way.
func (c *costs) total(t *testing.T, text, place string) int64 {
	t.Helper()
	o := c.options(place)
	p, err := ir.Parse("in", []byte(text), nil)
	if err != nil {
		t.Fatal(err, text)
	}
	s, err := passes.Run(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	call, err := o.CallTime(s)
	if err != nil {
		t.Fatal(err)
	}
	return call.Total
}

// TestAutoIsNearTheBestPlacement compares the placement of random programs with random costs with the wholes, and with
// the best of all placements.
func TestAutoIsNearTheBestPlacement(t *testing.T) {
	const n, allowed = 8, 0.05
	r := rand.New(rand.NewPCG(1, 2))
	sum, best, equal := int64(0), int64(0), 0
	for range testform.Of(20, 60, 2000) {
		text, c := randomCosts(r, n)
		auto := c.total(t, text, passes.PlaceAuto)
		for _, place := range []string{passes.PlaceCompute, passes.PlaceEngine} {
			if other := c.total(t, text, place); other < auto {
				t.Errorf("auto takes %d, %s %d\n%s", auto, place, other, text)
			}
		}
		least := auto
		for onCPU := range uint(1) << n {
			if len(c.refused) == 0 && onCPU == 1<<n-1 {
				continue // what the engine takes whole does not leave it
			}
			if o, ok := c.refusing(n, onCPU); ok {
				least = min(least, o.total(t, text, passes.PlaceCompute))
			}
		}
		if sum, best = sum+auto, best+least; auto == least {
			equal++
		}
	}
	if gap := float64(sum)/float64(best) - 1; gap > allowed || equal == 0 {
		t.Errorf("calls take %.1f %% longer than in the best placements, want at most %.0f %%; %d are the best",
			100*gap, 100*allowed, equal)
	}
}

// refusing returns the costs with a set of operations on the CPU, and whether that has all that the engine refuses.
func (c *costs) refusing(n int, onCPU uint) (*costs, bool) {
	o := *c
	o.refused = map[string]bool{}
	for i := range n {
		name := fmt.Sprintf("x%d", i+1)
		if onCPU>>i&1 == 1 {
			o.refused[name] = true
		} else if c.refused[name] {
			return nil, false
		}
	}
	return &o, true
}

// TestTrialsRunThePassesAfterPlace checks that a call is estimated of the program that the passes return: here an
// activation moves to two products, and the copy between two operations of the CPU may be on either unit.
func TestTrialsRunThePassesAfterPlace(t *testing.T) {
	text := `program "1.3"

func %main "ios18"(%x: tensor<fp16, [1, 4, 8, 8]>) {
  const %w: tensor<fp16, [1, 4, 1, 1]> = [1, 2, 3, 4]
  const %pt: tensor<string, []> = ["valid"]
  const %ones: tensor<int32, [2]> = [1, 1]
  const %zeros: tensor<int32, [4]> = [0, 0, 0, 0]
  const %one: tensor<int32, []> = [1]
  const %no: tensor<bool, []> = [0]
  %a: tensor<fp16, [1, 1, 8, 8]> = conv(x = %x, weight = %w, strides = %ones, pad_type = %pt, pad = %zeros, ` +
		`dilations = %ones, groups = %one)
  %b: tensor<fp16, [1, 1, 8, 8]> = conv(x = %x, weight = %w, strides = %ones, pad_type = %pt, pad = %zeros, ` +
		`dilations = %ones, groups = %one)
  %ab: tensor<fp16, [1, 2, 8, 8]> = concat(values = (%a, %b), axis = %one, interleave = %no)
  %r: tensor<fp16, [1, 2, 8, 8]> = relu(x = %ab)
  %s: tensor<fp16, [1, 2, 8, 8]> = sin(x = %r)
  %m: tensor<fp16, [1, 4, 8, 8]> = concat(values = (%s, %s), axis = %one, interleave = %no)
  %y: tensor<fp16, [1, 4, 8, 8]> = sin(x = %m)
  return %y
}
`
	p, err := ir.Parse("in", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Place, o.CPUTime = passes.PlaceAuto, func(*ir.Op) int64 { return 1e9 }
	accept := o.Accept
	o.Accept = func(op *ir.Op) (target.Acceptance, error) {
		if op.Is(ir.OpSin) {
			return target.Acceptance{}, &target.Refusal{Rule: target.RuleNoCode, Reason: "refused"}
		}
		return accept(op)
	}
	var mu sync.Mutex
	var tried []string
	o.CallTime = func(s *passes.State) (*passes.CallTime, error) {
		mu.Lock()
		defer mu.Unlock()
		tried = append(tried, kinds(s))
		return &passes.CallTime{Total: 1}, nil
	}
	s, err := passes.Run(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := kinds(s); !slices.Contains(tried, got) || strings.Count(got, "relu") != 2 {
		t.Errorf("estimated calls of %q, the result is %q", tried, got)
	}
}

// kinds returns the operations of a function in order, with their units.
func kinds(s *passes.State) string {
	var b strings.Builder
	for _, op := range s.Func.Body.Ops {
		fmt.Fprintf(&b, "%s on %s; ", op.Def.Name, op.Place.Unit)
	}
	return b.String()
}
