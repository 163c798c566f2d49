package ir

import (
	"slices"
	"strings"
)

// Equal reports whether two programs have the same text form and constants.
func Equal(a, b *Program) bool {
	text := func(p *Program) (string, *Data) {
		var s strings.Builder
		d := &Data{}
		if PrintTo(&s, p, d) != nil {
			return "", d
		}
		return s.String(), d
	}
	ta, da := text(a)
	tb, db := text(b)
	return ta == tb && slices.EqualFunc(da.Parts, db.Parts, func(x, y []byte) bool { return string(x) == string(y) })
}
