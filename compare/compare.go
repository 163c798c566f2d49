package compare

import (
	"context"
	"slices"

	"github.com/zinc-compiler/zinc/internal/diag"
)

// Options say what is compared.
type Options struct {
	Levels  []Level // nil for all
	Outputs bool    // run both sides and compare what they give
	Seed    uint64  // of the inputs of the runs
	Workers int     // goroutines of the runs, 0 for one a processor
	// CallBytes limits the live bytes of a CPU call of the runs; 0 for the interpreter's
	// own limit.
	CallBytes int64
	// Progress is called as runs go on, nil for none.
	Progress func(stage string, done, total int)
}

// pairing is a comparison under way.
type pairing struct {
	a, b    *Side
	renamed map[string]string // statements of A that have another name in B, as qualified
	// procedures of A that have another name in B; nil before procedure was asked.
	procedures map[string]string
	notes      map[Level]string // how a level was compared, where that is not as always
}

func (p *pairing) note(l Level, text string) { p.notes[l] = text }

// Compare compares two sides. Errors are of the runs, and the context's.
func Compare(ctx context.Context, a, b *Side, o Options) (*Result, error) {
	p := newPairing(a, b)
	if needsText(a) == "" && needsText(b) == "" && o.Levels != nil && !slices.Contains(o.Levels, MIL) {
		if _, err := p.statements(); err != nil { // other levels ask which names are new
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
			continue // nobody asked for them when the sides were opened
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

// compilation tells of a model that compiles on one side alone. One that has no programs
// for its target is not refused.
func (p *pairing) compilation() []*Change {
	if (p.a.refused == "") == (p.b.refused == "") {
		return nil
	}
	says := func(s *Side) string {
		switch {
		case s.refused != "":
			return "refused: " + s.refused
		case s.file == nil:
			return "places alone"
		}
		return "compiles"
	}
	return []*Change{{Level: Placement, Kind: Changed, Subject: "compilation", Details: []string{says(p.a) + " -> " +
		says(p.b)}}}
}

// unnamed tells of bytes that differ although nothing was found that explains them.
func (p *pairing) unnamed(all []*Change) (out []*Change) {
	if p.a.file == nil || p.b.file == nil || len(all) > 0 {
		return nil
	}
	n := differing(p.a.pair.Container, p.b.pair.Container)
	if p.a.file.Banner() != p.b.file.Banner() {
		// The source has another name, whose length moves what follows.
		n = 0
		a, b := p.a.file.Sections(), p.b.file.Sections()
		for i := range min(len(a), len(b)) {
			n += differing(a[i].Bytes(), b[i].Bytes())
		}
	}
	if n > 0 {
		out = append(out, &Change{
			Level:   Container,
			Kind:    Changed,
			Subject: "bytes that no part accounts for",
			Details: []string{diag.Count(n, "byte differs", "bytes differ") + "; the byte ranges tell where"},
		})
	}
	return out
}

// differing counts the bytes that differ; those past the shorter end do.
func differing(a, b []byte) int {
	n := max(len(a), len(b)) - min(len(a), len(b))
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// newPairing works on copies of the sides. What only one side knows aligns nothing:
// where one pair has a debug database and the other none, both are told by structure.
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
