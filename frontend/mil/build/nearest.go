package build

import "strings"

// The time for a hint is proportional to the number of names in scope, so the numbers of hints and of compared names
// are bounded.
const (
	maxHints    = 20
	maxCompared = 4096
)

// nearName returns a name in scope that differs from name by one letter added, omitted or replaced, or only in case; of
// several, the last defined.
func (b *builder) nearName(name string) string {
	if b.hints++; b.hints > maxHints {
		return ""
	}
	for i := len(b.log) - 1; i >= max(0, len(b.log)-maxCompared); i-- {
		n := b.log[i]
		if s := b.scope[n]; s == nil || s.value == nil {
			continue
		}
		if near(n, name) || strings.EqualFold(n, name) {
			return n
		}
	}
	return ""
}

// near reports whether one insertion, deletion or replacement turns a into b.
func near(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || len(b) < 3 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) == len(b) {
		return i == len(a) || a[i+1:] == b[i+1:]
	}
	return a[i:] == b[i+1:]
}
