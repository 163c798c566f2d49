package compile

import (
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// TestPackedStreamsAreRecorded compiles the recorded programs of h14 and compares the words of every task.
func TestPackedStreamsAreRecorded(t *testing.T) {
	cases := recordedCases(t, "h14")
	for _, c := range cases {
		mine := compiledTasks(t, c, target.H14)
		if mine == nil {
			t.Errorf("%s does not compile", c.Case)
			continue
		}
		same := len(mine) == len(c.Tasks)
		if !same {
			t.Logf("%s: %d tasks, recorded %d", c.Case, len(mine), len(c.Tasks))
		}
		for i := range min(len(mine), len(c.Tasks)) {
			want := recordedWords(t, c, i)
			if got, err := td.V11.EncodeWords(mine[i]); err != nil || !slices.Equal(got, want) {
				same = false
				t.Logf("%s task %d: %s (%v)", c.Case, i, firstDifference(t, mine[i], want), err)
			}
		}
		if !same {
			t.Errorf("%s is not as recorded", c.Case)
		}
	}
}

// firstDifference names the first field of a task that recorded words have with another value.
func firstDifference(t *testing.T, task *td.Task, words []uint32) string {
	t.Helper()
	want, err := td.V11.DecodeWords(words)
	if err != nil {
		t.Fatal(err)
	}
	for i := range td.Fields() {
		if f := td.Field(i); f != td.TaskWords && task.Get(f) != want.Get(f) {
			return f.String()
		}
	}
	return "records"
}
