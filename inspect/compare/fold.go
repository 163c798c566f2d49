package compare

import (
	"slices"

	"github.com/zinc-compiler/zinc/frontend/mil"
)

// fold assigns each effect to its cause: the change of a statement it came from, else of a statement that one of those
// reads. An effect without such a statement belongs to the changed setting or to the only cause. With several causes it
// goes to Together; without causes it stays a change of its own.
func (p *pairing) fold(all []*Change) []*Change {
	by := map[string]*Change{}
	var out, causes, settings []*Change
	for _, c := range all {
		if !c.cause {
			continue
		}
		causes = append(causes, c)
		if c.Level == Settings {
			settings = append(settings, c)
		}
		for _, n := range c.names {
			if by[n] == nil {
				by[n] = c
			}
		}
	}
	out = append(out, causes...)
	var read map[string][]string
	of := func(names []string) *Change {
		for _, n := range names {
			if to := by[n]; to != nil {
				return to
			}
		}
		return nil
	}
	rest := &Change{Level: Together, Kind: Changed, Subject: "what no single change explains"}
	for _, c := range all {
		if c.cause {
			continue
		}
		to := of(c.names)
		switch {
		case to != nil:
		case len(settings) == 1:
			to = settings[0]
		case len(causes) == 1:
			to = causes[0]
		case len(causes) > 1:
			if read == nil {
				read = p.reads()
			}
			for _, n := range c.names {
				if to = of(read[n]); to != nil {
					break
				}
			}
			if to == nil {
				to = rest
			}
		}
		if to == nil {
			out = append(out, c)
		} else {
			to.Effects = append(to.Effects, c)
		}
	}
	if len(rest.Effects) > 0 {
		out = append(out, rest)
	}
	return slices.Clip(out)
}

// reads lists what each statement of both sides reads, as qualified names.
func (p *pairing) reads() map[string][]string {
	out := map[string][]string{}
	for _, s := range []*Side{p.a, p.b} {
		if s.text == nil {
			continue
		}
		for _, f := range s.text.Funcs {
			addReads(out, f.Name, f.Body)
		}
	}
	return out
}

func addReads(out map[string][]string, fn string, b *mil.Block) {
	for _, s := range b.Stmts {
		var names []string
		for _, x := range s.Args {
			eachRead(x.Value, func(name string) { names = append(names, qualified(fn, name)) })
		}
		for _, r := range s.Results {
			n := qualified(fn, r.Name)
			out[n] = append(out[n], names...)
		}
		for _, x := range s.Blocks {
			addReads(out, fn, x)
		}
	}
}
