package coreml

import "math"

// Segment is a run of operations on one device.
type Segment struct {
	Device      Device
	First, Last int     // indices of rows
	Own         int     // the program's operations in it
	Saved       float64 // milliseconds that the operations save against the CPU; 0 on other devices than the engine
	Change      float64 // milliseconds of the changes to reach it and to leave it; 0 on the CPU
}

// Gain is what the engine is worth, in milliseconds.
type Gain struct {
	Best   float64 // the cheapest way
	CPU    float64 // the cheapest way without the engine
	Engine float64 // the cheapest way with an operation on the engine, +Inf if none can run there
	Visit  float64 // what the engine costs for a whole graph, there and back, above what the CPU costs
}

// Saved returns what the best use of the engine saves before the cost of one visit.
func (g Gain) Saved() float64 { return g.CPU - g.Engine + g.Visit }

// Margin returns how far the best use of the engine is above the cost of reaching it, negative below.
func (g Gain) Margin() float64 { return g.CPU - g.Engine }

// Possible reports whether some operation can run on the engine.
func (g Gain) Possible() bool { return !math.IsInf(g.Engine, 1) }

func (fc *forecaster) gain() Gain {
	c := fc.program
	around := func(b Backend) Cost { return fc.moves[Caller][b] + fc.moves[b][Caller] }
	g := Gain{
		Best:   c.way.best.MS(),
		CPU:    cheapest(without(c.steps, Engine), &fc.moves).best.MS(),
		Engine: math.Inf(1),
	}
	if fc.moves[Caller][Engine] != never {
		g.Visit = (around(Engine) - around(ClassicCPU)).MS()
	}
	if u := c.way.using(Engine); u != never {
		g.Engine = u.MS()
	}
	return g
}

// segments divides the function's operations by device.
func (fc *forecaster) segments() (out []Segment) {
	c := fc.program
	device := func(i int) Device { return c.way.chosen[i].Device() }
	for i := 0; i < len(c.rows); {
		j := i
		s := Segment{Device: device(i), First: c.rows[i]}
		for ; j < len(c.rows) && device(j) == s.Device; j++ {
			s.Last = c.rows[j]
			if fc.plan.Rows[c.rows[j]].Inserted == "" {
				s.Own++
			}
		}
		if s.Device == NeuralEngine {
			s.Saved = fc.saved(i, j)
			s.Change = fc.reach(i, j)
		}
		out = append(out, s)
		i = j
	}
	return out
}

// saved returns what steps i to j-1 save on the engine against the better of the CPU's backends.
func (fc *forecaster) saved(i, j int) float64 {
	var engine, classic, bnns Cost
	for _, s := range fc.program.steps[i:j] {
		engine, classic, bnns = engine.plus(s[Engine]), classic.plus(s[ClassicCPU]), bnns.plus(s[BNNS])
	}
	return min(classic, bnns).MS() - engine.MS()
}

// reach returns the cost of the changes before step i and after step j-1 of the chosen way.
func (fc *forecaster) reach(i, j int) float64 {
	c := fc.program
	from, to := Caller, Caller
	if i > 0 {
		from = At(c.way.chosen[i-1])
	}
	if j < len(c.rows) {
		to = At(c.way.chosen[j])
	}
	return fc.moves[from][c.way.chosen[i]].MS() + fc.moves[c.way.chosen[j-1]][to].MS()
}

// spare returns what the best run of operations that the engine can run, and that are not there, would save there.
func (fc *forecaster) spare() float64 {
	c := fc.program
	best, run := Cost(-1), Cost(0)
	for i, s := range c.steps {
		if s[Engine] == never || c.way.chosen[i] == Engine {
			run = 0
			continue
		}
		run = max(0, run.plus(min(s[ClassicCPU], s[BNNS]))-s[Engine])
		best = max(best, run)
	}
	if best < 0 {
		return -1
	}
	return best.MS()
}
