package explain

import (
	"strings"

	"github.com/zinc-compiler/zinc/internal/align"
)

// bodyLines returns the nonempty lines of a program's text without indentation, with the first and last lines of the
// function if frame is set.
func bodyLines(text string, frame bool) (out []string) {
	for _, l := range strings.Split(text, "\n") {
		l = strings.TrimSpace(l)
		if l == "" || l == "{" || l == "}" || strings.HasPrefix(l, "program(") {
			continue
		}
		if !frame && (strings.HasPrefix(l, "func ") || strings.HasPrefix(l, "} -> ")) {
			continue
		}
		out = append(out, l)
	}
	return out
}

// maxDiff bounds the comparisons of lines; what they do not align is removed and added as a whole.
const maxDiff = 1 << 22

// diff returns the removed and added lines, in order, by a longest common subsequence. Unchanged lines are omitted.
func diff(a, b []string) (out []string) {
	pairs, _ := align.Strings(a, b, maxDiff)
	i, j := 0, 0
	for _, p := range append(pairs, [2]int32{int32(len(a)), int32(len(b))}) {
		for ; i < int(p[0]); i++ {
			out = append(out, "- "+a[i])
		}
		for ; j < int(p[1]); j++ {
			out = append(out, "+ "+b[j])
		}
		i, j = i+1, j+1
	}
	return out
}
