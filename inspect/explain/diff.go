package explain

import "strings"

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

// maxDiff is the maximum number of lines on each side that are compared pairwise.
const maxDiff = 2000

// diff returns the removed and added lines, in order, by a longest common subsequence. Unchanged lines are omitted.
func diff(a, b []string) (out []string) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) > maxDiff || len(b) > maxDiff {
		for _, l := range a {
			out = append(out, "- "+l)
		}
		for _, l := range b {
			out = append(out, "+ "+l)
		}
		return out
	}
	// common[i][j] is the length for a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return out
}
