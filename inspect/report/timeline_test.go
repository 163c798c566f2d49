package report

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/target"
)

// laidOut checks that the serial spans of a timeline follow each other and add up to the call, and that what a task
// uses is within the task.
func laidOut(t *testing.T, f *compile.Report) []Span {
	t.Helper()
	type place struct{ dispatch, task int }
	tasks := map[place]*compile.TaskReport{}
	for i := range f.TaskList {
		x := &f.TaskList[i]
		tasks[place{x.Dispatch, x.Task}] = x
	}
	spans := Timeline(f)
	at := cost.Time(0)
	for _, s := range spans {
		if s.Start != at {
			t.Fatalf("%s %q starts at %s us, the span before it ends at %s us", s.Track, s.Name, s.Start, at)
		}
		if s.Track.Serial() {
			at += s.Time
		}
		if s.Track < TrackEngine {
			continue
		}
		x := tasks[place{s.Dispatch, s.Task}]
		if want := x.Estimate.Time; s.Time > want || s.Track == TrackEngine && s.Time != want {
			t.Errorf("%s: %s us of task %d of %d, the task takes %s us", s.Track, s.Time, s.Task, s.Dispatch, want)
		}
	}
	if at != f.CallTime() {
		t.Errorf("%s: the spans add up to %s us, the report to %s us", f.Function, at, f.CallTime())
	}
	return spans
}

func TestTimelineHasTheWayBackAfterTheTasks(t *testing.T) {
	var after []string
	for _, s := range Timeline(digits(t)) {
		switch {
		case s.Track == TrackEngine:
			after = nil
		case s.Track == TrackHost:
			after = append(after, s.Name)
		}
	}
	if want := []string{cost.Completion.String(), cost.Return.String()}; !slices.Equal(after, want) {
		t.Errorf("after the tasks come %q, want %q", after, want)
	}
}

func TestTimelineAddsUpToTheCall(t *testing.T) {
	laidOut(t, digits(t))
	r := several(t)
	all := cost.Time(0)
	for _, f := range r.Functions {
		laidOut(t, f)
		all += f.CallTime()
	}
	if all != r.CallTime() {
		t.Errorf("the functions take %s us, the report %s us", all, r.CallTime())
	}
	if Timeline(&compile.Report{}) != nil {
		t.Error("a plan has a timeline")
	}
}

func TestTimelineOfRealModelsAddsUpToTheCall(t *testing.T) {
	dir := filepath.Join(shareddir.Find(t), "corpus")
	for _, name := range []string{"silero-v6-fp16", "mnist-cnn-inline", "espresso-full-fused"} {
		f := compiled(t, filepath.Join(dir, name), compile.Options{Target: target.H13})
		if len(laidOut(t, f)) == 0 {
			t.Errorf("%s: no spans", name)
		}
	}
}
