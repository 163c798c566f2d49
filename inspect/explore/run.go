package explore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

var errFailed = errors.New("the compilation failed")

// runRequest is the body of a request to run a pair.
type runRequest struct {
	Seed     uint64 `json:"seed"`
	Numerics string `json:"numerics"`
	Func     string `json:"function"`
	Engine   string `json:"engine"` // of engines, "" for the first
}

// outputView is an output or an input of a run.
type outputView struct {
	Name   string          `json:"name"`
	Type   string          `json:"type"`
	Min    verify.Number   `json:"min"`
	Max    verify.Number   `json:"max"`
	Mean   verify.Number   `json:"mean"`
	Odd    int             `json:"not_finite"`
	First  []verify.Number `json:"first"`
	Counts []int           `json:"histogram"` // of histogramBins equal parts from min to max
}

// runAnswer is the answer to a run.
type runAnswer struct {
	Seed     uint64       `json:"seed"`
	Numerics string       `json:"numerics"`
	Engine   string       `json:"engine"`
	Inputs   []outputView `json:"inputs"`
	Outputs  []outputView `json:"outputs"`
}

func runView(s *Server, v *view, r *http.Request) (any, error) {
	q := runRequest{Numerics: "ane", Engine: engines[0]}
	if err := body(r, &q); err != nil {
		return nil, err
	}
	mode, err := numerics.ParseMode(q.Numerics)
	if err != nil {
		return nil, &requestError{http.StatusBadRequest, err}
	}
	if q.Engine == "" {
		q.Engine = engines[0]
	}
	if !slices.Contains(engines, q.Engine) {
		return nil, bad("engine is %q, want one of %s", cut(q.Engine), strings.Join(engines, ", "))
	}
	in, out, err := s.run(r.Context(), v, q, mode)
	if err != nil {
		return nil, err
	}
	a := &runAnswer{
		Seed:     q.Seed,
		Numerics: q.Numerics,
		Engine:   q.Engine,
		Inputs:   []outputView{},
		Outputs:  []outputView{},
	}
	for _, t := range in {
		a.Inputs = append(a.Inputs, describe(t))
	}
	for _, t := range out {
		a.Outputs = append(a.Outputs, describe(t))
	}
	return a, nil
}

// tensor is a value with its name.
type tensor struct {
	name  string
	value interp.Tensor
}

// runnable returns an error if a run of the view's pair would exceed the limits.
func (s *Server) runnable(v *view) error {
	if n := buffers(v.chain) + v.container.windows() + uint64(v.files.container.size); n > s.limits.Buffers {
		return &limitError{"running", fmt.Sprintf(
			"operands, surfaces, scratch and constants take %d bytes; the limit is %d; zinc run has none", n,
			s.limits.Buffers), false}
	}
	return nil
}

// run runs a view's pair on seeded inputs and zeroed states.
func (s *Server) run(ctx context.Context, v *view, q runRequest, mode numerics.Mode) (in, out []tensor, err error) {
	if err := s.runnable(v); err != nil {
		return nil, nil, err
	}
	if len(v.assumed) > 0 {
		return nil, nil, &requestError{http.StatusConflict, fmt.Errorf("%s: outputs would be those of assumed values",
			strings.Join(v.assumed, "; "))}
	}
	leave, err := s.gate.enter(ctx, "running")
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	ctx, stop, explain := s.limits.guard(ctx, "running")
	defer stop()
	defer s.rescue("running "+v.model.Name, &err)
	p, err := v.files.read()
	if err != nil {
		return nil, nil, &faultError{err}
	}
	tell, tasks := telling(ctx), 0
	tell("running", 0, len(v.tasks))
	r, err := s.load(ctx, p, q.Engine, mode, func() {
		tasks++
		tell("running", tasks, max(tasks, len(v.tasks)))
	})
	if err != nil {
		// An operand that is too large is an error of the model, anything else a fault.
		return nil, nil, &requestError{http.StatusUnprocessableEntity, err}
	}
	defer r.close()
	if q.Func != "" {
		if err := r.machine.Select(q.Func); err != nil {
			return nil, nil, &requestError{http.StatusBadRequest, err}
		}
	}
	given := map[string]interp.Tensor{}
	for _, p := range r.machine.Inputs() {
		t, err := verify.Random(filled(p.Type), p.Name, q.Seed)
		if err != nil {
			return nil, nil, &requestError{http.StatusUnprocessableEntity, fmt.Errorf("input %s: %w", p.Name, err)}
		}
		given[p.Name] = t
		in = append(in, tensor{p.Name, t})
	}
	got, err := r.run(ctx, given)
	if err = explain(err); err != nil {
		if isLimit(err) {
			return nil, nil, err
		}
		return nil, nil, &requestError{http.StatusUnprocessableEntity, err}
	}
	for _, p := range r.machine.Outputs() {
		if t, ok := got[p.Name]; ok {
			out = append(out, tensor{p.Name, t})
		}
	}
	return in, out, nil
}

// filled replaces unknown dimensions by the extent that verify uses.
func filled(t ir.Type) ir.Type {
	if t.Static() {
		return t
	}
	shape := append([]int64(nil), t.Shape...)
	for i, d := range shape {
		if d < 0 {
			shape[i] = verify.UnknownExtent
		}
	}
	return t.WithShape(shape...)
}

// The shown part of a tensor.
const (
	shownValues   = 16
	histogramBins = 32
)

func describe(t tensor) outputView {
	o := outputView{
		Name:   t.name,
		Type:   t.value.Type.String(),
		First:  []verify.Number{},
		Counts: make([]int, histogramBins),
	}
	if t.value.Type.Kind != ir.Tensor || t.value.Type.DType == ir.String {
		return o
	}
	// Converted element by element, since a float64 copy would take several times the tensor's memory.
	c := t.value.Const()
	lo, hi, sum, elems := math.Inf(1), math.Inf(-1), 0.0, c.Elems()
	for i := range elems {
		x := c.Float(i)
		if x-x != 0 {
			o.Odd++
			continue
		}
		lo, hi, sum = min(lo, x), max(hi, x), sum+x
	}
	if n := elems - int64(o.Odd); n > 0 {
		o.Min, o.Max, o.Mean = verify.Number(lo), verify.Number(hi), verify.Number(sum/float64(n))
		for i := range elems {
			if x := c.Float(i); x-x == 0 && hi > lo {
				o.Counts[min(int((x-lo)/(hi-lo)*histogramBins), histogramBins-1)]++
			}
		}
	}
	for i := range min(elems, shownValues) {
		o.First = append(o.First, verify.Number(c.Float(i)))
	}
	return o
}
