package compare

import (
	"context"
	"slices"

	"github.com/zinc-compiler/zinc/internal/diag"
)

// Options say what to compare.
type Options struct {
	Levels  []Level // nil for all
	Outputs bool    // run both sides and compare the outputs
	Seed    uint64  // of the inputs of the runs
	Workers int     // goroutines of the runs; 0: one per processor
	// CallBytes limits the live bytes of a CPU call of the runs; 0 for the interpreter's
	// own limit.
	CallBytes int64
	// SameWeights says that both sides read the same weight files, so that blobs of one name need not be compared.
	SameWeights bool
	// Progress is called as runs go on, nil for none.
	Progress func(stage string, done, total int)
}

// pairing is a comparison under way.
type pairing struct {
	a, b    *Side
	renamed map[string]string // qualified names of A's statements that B renames
	// procedures of A that have another name in B; nil before the first call of procedure.
	procedures map[string]string
	notes      map[Level]string // how a level was compared, if not as usual
	weights    bool             // both sides read the same
}

func (p *pairing) note(l Level, text string) { p.notes[l] = text }

// Compare compares two sides. It returns errors of the runs and of the context.
func Compare(ctx context.Context, a, b *Side, o Options) (*Result, error) {
	p := newPairing(a, b)
	p.weights = o.SameWeights
	if needsText(a) == "" && needsText(b) == "" && o.Levels != nil && !slices.Contains(o.Levels, MIL) {
		if _, err := p.statements(); err != nil { // other levels need the renamed statements
			return nil, err
		}
	}
	r := &Result{A: p.a.summary(), B: p.b.summary(), Changes: []*Change{}}
	var all []*Change
	for _, l := range Levels {
		if o.Levels != nil && !slices.Contains(o.Levels, l.Level) {
			continue
		}
		if l.Level == Passes && o.Levels == nil && a.trace == nil && b.trace == nil {
			continue // not requested when the sides were opened
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c := Coverage{Level: l.Level, Missing: p.missing(l.missing)}
		if c.Missing == "" {
			found, err := l.compare(p)
			if err != nil {
				return nil, err
			}
			c.Differences, c.Note = len(found), p.notes[l.Level]
			all = append(all, found...)
		}
		r.Levels = append(r.Levels, c)
	}
	if o.Levels == nil || slices.Contains(o.Levels, Placement) {
		all = append(all, p.compilation()...)
	}
	if o.Outputs {
		c := Coverage{Level: Outputs, Missing: p.missing(needsPair)}
		if c.Missing == "" {
			found, err := p.outputs(ctx, o)
			if err != nil {
				return nil, err
			}
			c.Differences = len(found)
			all = append(all, found...)
		}
		r.Levels = append(r.Levels, c)
	}
	if o.Levels == nil {
		all = append(all, p.unnamed(all)...)
	}
	if o.Levels == nil || slices.Contains(o.Levels, Cost) {
		r.Cost = figures(p.a, p.b)
	}
	r.Changes = append(r.Changes, p.fold(all)...)
	r.Same = len(r.Changes) == 0
	return r, nil
}

func (p *pairing) missing(why func(*Side) string) string {
	a, b := why(p.a), why(p.b)
	switch {
	case a == "" && b == "":
		return ""
	case a == b || a == compiledAlready:
		return a
	case b == compiledAlready:
		return b
	case a == "":
		return "B: " + b
	case b == "":
		return "A: " + a
	}
	return "A: " + a + "; B: " + b
}

// compilation reports a model that compiles on only one side. A target without programs is not a refusal.
func (p *pairing) compilation() []*Change {
	if (p.a.refused == "") == (p.b.refused == "") {
		return nil
	}
	says := func(s *Side) string {
		switch {
		case s.refused != "":
			return "refused: " + s.refused
		case s.file == nil && s.noPair != notBuilt:
			return "places alone"
		}
		return "compiles"
	}
	return []*Change{newChange(Placement, Changed, "compilation", nil, says(p.a)+" -> "+says(p.b))}
}

// unnamed reports bytes that differ without an explanation.
func (p *pairing) unnamed(all []*Change) (out []*Change) {
	if p.a.file == nil || p.b.file == nil || len(all) > 0 {
		return nil
	}
	n := differing(p.a.pair.Container, p.b.pair.Container)
	if p.a.file.Banner() != p.b.file.Banner() {
		// The source has another name, whose length shifts the following bytes.
		n = 0
		a, b := p.a.file.Sections(), p.b.file.Sections()
		for i := range min(len(a), len(b)) {
			n += differing(a[i].Bytes(), b[i].Bytes())
		}
	}
	if n > 0 {
		out = append(out, newChange(Container, Changed, "bytes that no part accounts for", nil,
			diag.Count(n, "byte differs", "bytes differ")+"; the byte ranges show where"))
	}
	return out
}

// differing counts the bytes that differ, including those past the end of the shorter side.
func differing(a, b []byte) int {
	n := max(len(a), len(b)) - min(len(a), len(b))
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// newPairing works on copies of the sides. Information that only one side has is not used: if only one pair has a debug
// database, both are aligned by structure.
func newPairing(a, b *Side) *pairing {
	x, y := *a, *b
	if a.file != nil && b.file != nil && (a.db == nil) != (b.db == nil) {
		x.db, y.db = nil, nil
	}
	p := &pairing{a: &x, b: &y, renamed: map[string]string{}, notes: map[Level]string{}}
	x.renamed = p.renamed
	x.decoded, y.decoded = false, false
	return p
}
