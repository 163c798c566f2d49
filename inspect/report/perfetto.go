package report

import (
	"io"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/chrometrace"
)

// writePerfetto writes the timeline of a call as a trace: a process for each function and a thread for each track.
// Times are estimates in microseconds from the start of the call.
func writePerfetto(w io.Writer, d *Document) error {
	other := map[string]string{
		"model":     d.Model,
		"target":    d.Target,
		"precision": d.Precision,
		"time":      "estimated, in microseconds from the start of a call; nothing was measured",
	}
	if e := d.Report.Estimate; e != nil {
		other["error"] = e.Known
	}
	t := chrometrace.New(w, other)
	for i, f := range d.Report.Each() {
		pid := uint64(i + 1)
		t.Process(pid, "function "+f.Function)
		for track := range Track(Tracks) {
			t.Thread(pid, int(track), track.String())
		}
		for _, s := range Timeline(f) {
			e := chrometrace.Event{
				Name:  s.Name,
				Cat:   s.Track.String(),
				Phase: chrometrace.Complete,
				TS:    inMicros(s.Start),
				Dur:   inMicros(s.Time),
				PID:   pid,
				TID:   int(s.Track),
			}
			if s.Op >= 0 {
				e.Args = spanArgs(&f.Ops[s.Op], &s)
			}
			t.Event(e)
		}
	}
	return t.Close()
}

// spanArgs are the facts of a span about its operation.
func spanArgs(o *compile.OpReport, s *Span) map[string]any {
	args := map[string]any{"result": o.Name, "line": o.Line, "type": o.Type}
	if o.Scope != "" {
		args["scope"] = o.Scope
	}
	if s.Task >= 0 {
		args["task"], args["dispatch"] = s.Task, s.Dispatch
	}
	if s.Bound != "" {
		args["bound by"] = s.Bound
	}
	if o.Reason != "" {
		args["why"] = o.Reason
	}
	return args
}

// inMicros returns a time in microseconds.
func inMicros(t cost.Time) float64 { return float64(t) / float64(cost.Microsecond) }
