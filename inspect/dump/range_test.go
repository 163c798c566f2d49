package dump

import (
	"fmt"
	"strings"
	"testing"
)

func TestTaskRangesSelectTasksOfProcedures(t *testing.T) {
	one := []procedureTasks{{"net", 4}}
	two := []procedureTasks{{"net", 4}, {"a:b", 2}, {"", 1}}
	for _, c := range []struct {
		values     string // separated by spaces
		procedures []procedureTasks
		want       string // tasks by procedure, or the error
	}{
		{"0", one, "[0]"},
		{"1-2", one, "[1 2]"},
		{"2-", one, "[2 3]"},
		{"0,2-3", one, "[0 2 3]"},
		{"3 0", one, "[0 3]"},
		{"net:1", one, "[1]"},
		{"a:b:1", two, "[] [1] []"},
		{"net:0 a:b:0-", two, "[0] [0 1] []"},
		{"4", one, `task 4: procedure "net" has 4 tasks, counted from 0`},
		{"0-4", one, `task 0-4: procedure "net" has 4 tasks, counted from 0`},
		{"1", two, `name the procedure, as in task NAME:1; the file has "net", "a:b", ""`},
		{"x:1", two, `task x:1: unknown procedure; the file has`},
		{"1", nil, "the file has none"},
		{":1", one, "missing name before the colon"},
		{"", one, `"" is not a task`},
		{"-1", one, `"-1" is not a task`},
		{"2-1", one, `"2-1" is not a task`},
		{"1,", one, `"" is not a task`},
		{"99999999999999999999", one, "is not a task"},
		{"@x", one, `"@x" is not a place`},
		{"@0x20-0x10", one, "is not a place"},
		{"net:@0x20", one, "is not a place"},
	} {
		rs, err := ParseTasks(strings.Split(c.values, " "))
		got := ""
		if err == nil {
			var chosen []func(int) bool
			if chosen, err = (&Options{Tasks: rs}).chooseTasks(c.procedures); err == nil {
				var parts []string
				for k, p := range c.procedures {
					l := []int{}
					for i := range p.tasks {
						if chosen[k](i) {
							l = append(l, i)
						}
					}
					parts = append(parts, fmt.Sprint(l))
				}
				got = strings.Join(parts, " ")
			}
		}
		if err != nil {
			got = err.Error()
		}
		if got != c.want && !(err != nil && strings.Contains(got, c.want)) {
			t.Errorf("%s: %s, want %s", c.values, got, c.want)
		}
	}
	many := make([]procedureTasks, 100)
	rs, err := ParseTasks([]string{"0"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&Options{Tasks: rs}).chooseTasks(many); err == nil || !strings.HasSuffix(err.Error(), "and 88 more") {
		t.Errorf("of a hundred procedures: %v", err)
	}
}
