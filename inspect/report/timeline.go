package report

import (
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/ir"
)

// Track is a row of a timeline.
type Track int

// The tracks. One call waits for the first three in turn: their spans do not overlap and add up to the call. The others
// show what a task uses while it is on the engine.
const (
	TrackHost Track = iota // software between the caller and the engine
	TrackCPU
	TrackEngine
	TrackProducts
	TrackDMA
	TrackL2
	Tracks = iota
)

var trackNames = [Tracks]string{"dispatch", "CPU", "engine", "products", "DMA", "L2"}

// trackUses are the parts of a call's time that tracks show; operations on the engine have several.
var trackUses = [Tracks]string{useDispatch, useCPU, "", cost.Products.String(), cost.DMA.String(), cost.L2.String()}

// String returns the track's name.
func (t Track) String() string { return trackNames[t] }

// Serial reports whether a call waits for the track's spans one after the other.
func (t Track) Serial() bool { return t <= TrackEngine }

// Span is a length of time on a track.
type Span struct {
	Track       Track
	Start, Time cost.Time // from the start of the call
	Name        string
	// Op is the index of the operation in Report.Ops of the span's function, -1 for none.
	Op       int
	Task     int // index in its procedure, -1 for none
	Dispatch int // index into Report.DispatchList, -1 for none
	Bound    string
	L2       int64 // most bytes of L2 that a task has in use
}

// Timeline lays out one call of a function by its estimates: the steps in order, the operations of a step on the CPU
// one after the other, and for a dispatch the stages on the way to the engine, its inputs and outputs, its tasks one
// after the other, and the stages on the way back. It returns nil for a plan, which has no estimates. The spans of
// serial tracks add up to Report.Total.
func Timeline(f *compile.Report) []Span {
	if f.Estimate == nil {
		return nil
	}
	t := &timeline{f: f}
	dispatch := 0
	for i := range f.Ops {
		o := &f.Ops[i]
		for ; dispatch < len(f.DispatchList) && f.DispatchList[dispatch].Step <= o.Step; dispatch++ {
			t.dispatch(dispatch)
		}
		if o.Unit == ir.CPU.String() && o.CPU > 0 {
			t.add(Span{Track: TrackCPU, Time: o.CPU, Name: o.Op, Op: i, Task: -1, Dispatch: -1})
		}
	}
	for ; dispatch < len(f.DispatchList); dispatch++ {
		t.dispatch(dispatch)
	}
	return t.spans
}

type timeline struct {
	f     *compile.Report
	at    cost.Time
	task  int // next of Report.TaskList
	spans []Span
}

// add appends a span at the current time, and moves on if the call waits for it.
func (t *timeline) add(s Span) {
	if s.Time <= 0 {
		return
	}
	s.Start = t.at
	t.spans = append(t.spans, s)
	if s.Track.Serial() {
		t.at += s.Time
	}
}

// dispatch adds a dispatch. Its stages come first but for the last ones.
func (t *timeline) dispatch(n int) {
	d := &t.f.DispatchList[n]
	host := func(name string, time cost.Time) {
		t.add(Span{Track: TrackHost, Time: time, Name: name, Op: -1, Task: -1, Dispatch: n})
	}
	stages := t.f.Estimate.Stages
	back := max(0, len(stages)-stagesBack)
	for _, s := range stages[:back] {
		host(s.Name, s.Time)
	}
	if d.Estimate != nil {
		host(partNamed(useHand).Name, d.Estimate.Terms[cost.Hand])
	}
	for ; t.task < len(t.f.TaskList) && t.f.TaskList[t.task].Dispatch == n; t.task++ {
		x := &t.f.TaskList[t.task]
		if x.Estimate != nil && x.OpIndex >= 0 && x.OpIndex < len(t.f.Ops) { // a report may have been read from a file
			t.engine(x, n)
		}
	}
	for _, s := range stages[back:] {
		host(s.Name, s.Time)
	}
}

// stagesBack are the stages of a dispatch after its work: cost.Completion and cost.Return.
const stagesBack = 2

func (t *timeline) engine(x *compile.TaskReport, dispatch int) {
	s := Span{
		Time:     x.Estimate.Time,
		Name:     t.f.Ops[x.OpIndex].Op,
		Op:       x.OpIndex,
		Task:     x.Task,
		Dispatch: dispatch,
		Bound:    x.Estimate.Bound,
		L2:       x.Estimate.L2Peak,
	}
	for i, term := range []cost.Term{cost.Products, cost.DMA, cost.L2} {
		use := s
		use.Track, use.Time = TrackProducts+Track(i), x.Alone[term]
		t.add(use)
	}
	s.Track = TrackEngine
	t.add(s)
}
