package lower

import (
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// Idle returns a task for a program that does not use the engine: one that is skipped, or, in a version of the
// descriptor that has no such tasks, a copy of one element between ports with the given buffer-access registers.
func Idle(t *target.Table, codec *td.Codec, from, to int) (*td.Task, error) {
	task := td.New()
	if codec.Has(td.TDSkip) {
		task.SetBool(td.TDSkip, true)
		task.Spans = []td.Span{}
		return task, nil
	}
	b := newBuilder(&Segment{Codec: codec}, t, &weights.Section{})
	port := func(s space, bar int) *view {
		return inBuffer(&buffer{space: s, size: int64(t.SurfaceAlign), bar: bar, def: -1}, []int64{1, 1, 1, 1})
	}
	b.copyTo(port(inPort, from), port(outPort, to))
	if err := b.failure(b.plan(Planners)); err != nil {
		return nil, err
	}
	b.encode(task, b.drafts[0])
	return task, nil
}
