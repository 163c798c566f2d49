package passes

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/internal/mapfault"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// refineRounds limits how often the best placement is weighed again with the times that its tasks have.
const refineRounds = 4

// CallTime is the estimated time of a call of a function, in nanoseconds.
type CallTime struct {
	Total int64
	Ops   map[*ir.Op]int64 // the tasks of each operation of the engine, and of those fused into it
	// Exceeds reports that no container has room for the constants.
	Exceeds bool
}

// placement is a way to place the operations that the engine accepts.
type placement struct {
	// base is PlaceCompute, PlaceEngine, or PlaceAuto for all on the engine without the copies that PlaceEngine adds.
	base string
	// cut is what the CPU does sooner, by index in the function's body.
	cut map[int]*target.Refusal
}

// key identifies a placement among those of one state.
func (p *placement) key() string { return fmt.Sprint(p.base, slices.Sorted(maps.Keys(p.cut))) }

// apply places the operations after acceptAll.
func (s *State) apply(p placement) error {
	for i, op := range s.Func.Body.Ops {
		if no := p.cut[i]; no != nil {
			s.refuse(op, op.Place.Rule, no)
		}
	}
	if err := s.applyBase(p.base); err != nil {
		return err
	}
	s.dropConstantPartitions()
	return s.restoreSources()
}

func (s *State) applyBase(base string) error {
	switch base {
	case PlaceCompute:
		s.dropIdleMoves()
	case PlaceEngine:
		if err := s.forceCasts(); err != nil {
			return err
		}
	}
	s.placeCasts()
	return nil
}

// copied is a copy of a state in pass place, for trying a placement.
type copied struct {
	*State
	ops []*ir.Op // the copies of the operations, in the order of the original's body
}

// copy copies what passes from place on need of a state.
func (s *State) copy() copied {
	f := ir.CloneFunc(s.Func, s.Func.Name)
	p := *s.Program
	p.Funcs = []*ir.Func{f}
	t := &State{
		Options:        s.Options,
		Program:        &p,
		Func:           f,
		Reference:      s.Reference,
		Fused:          map[*ir.Op][]*ir.Op{},
		VisibleOutputs: s.VisibleOutputs,
		States:         slices.Clone(s.States),
		Refusals:       map[*ir.Op]*target.Refusal{},
		parts:          make(map[*ir.Op]decomposedFrom, len(s.parts)),
		fresh:          s.fresh,
	}
	t.Origins = false
	params := make(map[*ir.Value]*ir.Value, len(f.Body.Params))
	for i, v := range s.Func.Body.Params {
		params[v] = f.Body.Params[i]
	}
	for i, st := range s.States {
		t.States[i].Value = params[st.Value]
	}
	for i, op := range s.Func.Body.Ops {
		n := f.Body.Ops[i]
		carry(t.Refusals, n, s.Refusals, op)
		carry(t.parts, n, s.parts, op)
	}
	return copied{t, slices.Clone(f.Body.Ops)}
}

// carry sets to[k] to from[of], if that is set.
func carry[K comparable, V any](to map[K]V, k K, from map[K]V, of K) {
	if v, ok := from[of]; ok {
		to[k] = v
	}
}

// trial is a placement that is tried on a copy.
type trial struct {
	placement
	copied
	least nanoseconds // of a call, without the engine's tasks
	total nanoseconds // of a call
	times []int64     // what each operation takes on the engine, by index in the original's body
	// exceeds reports that no container has room for it.
	exceeds bool
	call    *CallTime // nil if it cannot be lowered
	err     error     // of a pass
}

// chooser compares placements of a state.
type chooser struct {
	s     *State
	whole bool // the engine takes the function whole and in one partition
	tried []*trial
	seen  map[string]bool // placements, and the programs that they lead to
	best  *trial          // of those that were lowered
	costs *weighing       // nil until it is needed
}

// maxAtOnce limits the operations of a function whose placements are lowered two at a time: each takes memory as
// another compilation does.
const maxAtOnce = 1 << 14

// choose returns the placement with the least estimated time of a call. It tries everything on the engine, with and
// without what only moves data, and both without what the CPU does sooner (placeByCost). Then it weighs the best one
// again with the times that operations take in its chains of tasks, until that gains nothing.
//
// A function that the engine accepts whole and in one partition is an engine program, however small: a part of it stays
// there, and it is cut only if that saves more than the known error of the estimate.
func (s *State) choose() (placement, error) {
	if s.CPUTime == nil || s.DispatchTime == nil {
		return placement{base: PlaceCompute}, nil
	}
	c := &chooser{s: s, seen: map[string]bool{}}
	if err := c.add(placement{base: PlaceCompute}); err != nil {
		return placement{}, err
	}
	first := c.tried[0]
	c.whole = enginePartitions(newNeeds(first.Func.Body).fewest()) == 1 && !first.needsCPU()
	switch {
	case s.CallTime != nil:
	case c.whole:
		return first.placement, nil
	default:
		p, _, err := c.weighed(PlaceCompute, nil, aloneShare)
		return p, err
	}
	if c.idle() || slices.ContainsFunc(s.Func.Body.Ops, converts) { // or else it is the same as PlaceCompute
		if err := c.add(placement{base: PlaceEngine}); err != nil {
			return placement{}, err
		}
	}
	for _, base := range c.bases() {
		for _, share := range []nanoseconds{1, aloneShare} {
			more, err := c.addWeighed(base, nil, share)
			if err != nil {
				return placement{}, err
			}
			if !more {
				break
			}
		}
	}
	if len(c.tried) == 1 {
		return first.placement, nil
	}
	if err := c.lowerAll(); err != nil {
		return placement{}, err
	}
	for round, before := 0, (*trial)(nil); round < refineRounds && c.best != before; round++ {
		before = c.best
		base := before.base
		if base == PlaceEngine {
			base = PlaceAuto
		}
		if _, err := c.addWeighed(base, before.times, 1); err != nil {
			return placement{}, err
		}
		if err := c.lowerAll(); err != nil {
			return placement{}, err
		}
	}
	if c.best == nil {
		return first.placement, nil // none can be lowered, and the compilation will say why
	}
	return c.best.placement, nil
}

// unitMarks separate names in a list of operations and their units.
var unitMarks = map[ir.Unit]string{ir.Unplaced: "\n", ir.Engine: "+\n", ir.CPU: "-\n", ir.Transfer: "=\n"}

// add adds a placement to those to try, unless it leads to the same program as an earlier one.
func (c *chooser) add(p placement) error {
	if c.seen[p.key()] {
		return nil
	}
	c.seen[p.key()] = true
	t := &trial{placement: p, copied: c.s.copy()}
	if err := t.apply(p); err != nil {
		return err
	}
	engine := false
	var b strings.Builder
	for _, op := range t.Func.Body.Ops {
		b.WriteString(op.Results[0].Name)
		b.WriteString(unitMarks[op.Place.Unit])
		switch op.Place.Unit {
		case ir.Engine:
			engine = true
		case ir.CPU:
			t.least += nanoseconds(c.s.CPUTime(op))
		}
	}
	if engine {
		t.least += nanoseconds(c.s.DispatchTime(0, 0))
	}
	if k := b.String(); !c.seen[k] && (engine || !c.whole) {
		c.seen[k] = true
		c.tried = append(c.tried, t)
	}
	return nil
}

// converts reports whether an operation that the engine has not accepted converts between fp16 and another type.
func converts(op *ir.Op) bool { return op.Place.Unit != ir.Engine && convertsHalf(op) != 0 }

// idle reports whether PlaceCompute drops moves that are idle.
func (c *chooser) idle() bool {
	for _, no := range c.tried[0].Refusals {
		if no.Rule == target.RuleIdleMove {
			return true
		}
	}
	return false
}

// bases returns the bases from which to cut: the one without idle moves, and if there are any the one with them.
func (c *chooser) bases() []string {
	if c.idle() {
		return []string{PlaceCompute, PlaceAuto}
	}
	return []string{PlaceCompute}
}

// addWeighed adds a base without what the CPU does sooner, and reports whether that may be something else with a larger
// share.
func (c *chooser) addWeighed(base string, times []int64, share nanoseconds) (more bool, err error) {
	p, more, err := c.weighed(base, times, share)
	if err != nil || len(p.cut) == 0 && base == PlaceCompute {
		return false, err
	}
	return more && len(p.cut) > 0, c.add(p)
}

// weighed returns the placement without what the CPU does sooner, and whether the share matters. base is not
// PlaceEngine, which adds operations. times, if not nil, are the times of operations in a chain of tasks, by index in
// the function's body.
func (c *chooser) weighed(base string, times []int64, share nanoseconds) (p placement, matters bool, err error) {
	s := c.s
	defer s.keepPlaces()()
	if err := s.applyBase(base); err != nil {
		return placement{}, false, err
	}
	ops := s.Func.Body.Ops
	for i, n := range times {
		ops[i].Alone.Nanos = n
	}
	matters = c.weighing().placeByCost(share)
	p = placement{base: base, cut: map[int]*target.Refusal{}}
	for i, op := range ops {
		if no := s.Refusals[op]; no != nil && no.Rule == target.RuleCut {
			p.cut[i] = no
		}
	}
	return p, matters, nil
}

func (c *chooser) weighing() *weighing {
	if c.costs == nil {
		c.costs = c.s.newWeighing()
	}
	return c.costs
}

// keepPlaces returns a function that undoes what is done to places, refusals and times until it is called.
func (s *State) keepPlaces() (undo func()) {
	ops := s.Func.Body.Ops
	type known struct {
		place ir.Place
		alone ir.Alone
	}
	before := make([]known, len(ops))
	for i, op := range ops {
		before[i] = known{op.Place, op.Alone}
	}
	refusals := s.Refusals
	s.Refusals = maps.Clone(refusals)
	return func() {
		for i, op := range ops {
			op.Place, op.Alone = before[i].place, before[i].alone
		}
		s.Refusals = refusals
	}
}

// lowerAll estimates calls of the placements to try by lowering them, and forgets all but the best. One whose work
// outside of tasks takes as long as the best one is not lowered, so those with the least such work come first.
func (c *chooser) lowerAll() error {
	if !c.whole { // or else the whole is first
		slices.SortStableFunc(c.tried, func(a, b *trial) int { return cmp.Compare(a.least, b.least) })
	}
	for len(c.tried) > 0 {
		n := 1
		if len(c.s.Func.Body.Ops) <= maxAtOnce {
			n = min(2, len(c.tried))
		}
		if err := c.lower(c.tried[:n]); err != nil {
			return err
		}
		c.tried = c.tried[n:]
	}
	return nil
}

// lower estimates calls of trials by lowering them at the same time, and keeps the best. The outcome is the same as
// with one after the other.
func (c *chooser) lower(list []*trial) error {
	var g mapfault.Group
	for _, t := range list {
		if !c.excludes(t) {
			g.Go(t.lower)
		}
	}
	g.Wait()
	for _, t := range list {
		switch {
		case c.excludes(t):
		case t.err != nil:
			return t.err
		case t.call != nil:
			t.total, t.exceeds = nanoseconds(t.call.Total), t.call.Exceeds
			t.setTimes(t.call)
			if c.better(t) {
				c.best = t
			}
		}
		t.copied, t.call = copied{}, nil // no longer needed
	}
	return nil
}

// excludes reports whether a trial takes as long as the best one without its tasks.
func (c *chooser) excludes(t *trial) bool { return t.least >= c.limit(t) && !c.best.exceeds }

// lower runs the passes after place on a trial, and sets call or err.
func (t *trial) lower() {
	for _, p := range afterPlace {
		if t.err = p.run(t.State); t.err != nil {
			return
		}
	}
	t.call, _ = t.CallTime(t.State)
}

// better reports whether a trial is better than the best one: it fits a container where that does not, or takes less
// time than its limit.
func (c *chooser) better(t *trial) bool {
	if c.best != nil && t.exceeds != c.best.exceeds {
		return c.best.exceeds
	}
	return t.total < c.limit(t)
}

// limit returns the time that a trial must take less than to be the best one.
func (c *chooser) limit(t *trial) nanoseconds {
	switch {
	case c.best == nil:
		return math.MaxInt64
	case c.whole && len(c.best.cut) == 0 && len(t.cut) > 0:
		return c.best.total - c.best.total/weighMargin
	}
	return c.best.total
}

// setTimes sets the times on the engine: the tasks' times, divided among fused operations as they compare alone, and of
// an operation on the CPU what it takes alone.
func (t *trial) setTimes(e *CallTime) {
	times := make(map[*ir.Op]int64, len(t.ops))
	for _, op := range t.Func.Body.Ops {
		if op.Place.Unit != ir.Engine {
			times[op] = op.Alone.Nanos
			continue
		}
		times[op] += e.Ops[op]
		sum := op.Alone.Nanos
		for _, f := range t.Fused[op] {
			sum += f.Alone.Nanos
		}
		if sum == 0 {
			continue
		}
		for _, f := range t.Fused[op] {
			times[f] = int64(float64(e.Ops[op]) / float64(sum) * float64(f.Alone.Nanos))
			times[op] -= times[f]
		}
	}
	t.times = make([]int64, len(t.ops))
	for i, op := range t.ops {
		t.times[i] = times[op]
	}
}
