package dump

import "testing"

// FuzzParseTasks reads any --task: a range that is accepted is not empty.
func FuzzParseTasks(f *testing.F) {
	for _, s := range []string{"0", "1-3", "2-", "net:0,4-5", ":1", "a:b:1", "-1", "3-1", "", ",",
		"18446744073709551616"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ranges, err := ParseTasks([]string{s})
		if err != nil {
			return
		}
		for _, r := range ranges {
			if r.from < 0 || r.to < r.from {
				t.Errorf("%q has the range %d to %d", s, r.from, r.to)
			}
		}
	})
}
