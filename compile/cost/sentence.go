package cost

import "github.com/zinc-compiler/zinc/lower/td"

// bounds say in words which term limits a task.
var bounds = [Terms]string{Dispatch: "dispatch", Hand: "io", Products: "product", DMA: "DMA", L2: "L2"}

// Sentence says in one sentence what a task computes, how long it takes by the estimate e, and what limits it.
func (e *Task) Sentence(t *td.Task) string {
	s := t.Summary().Work()
	if e.Time == 0 {
		return s
	}
	return s + ", " + e.Time.Short() + ", " + bounds[e.Bound] + " bound"
}
