package compare

import (
	"slices"

	"github.com/zinc-compiler/zinc/frontend/mil"
)

// fold puts each effect under the cause that it came from: that of a statement behind
// it, else that of a statement that one of those reads. What no statement ties to a cause
// belongs to the setting that changed, or to the cause, where there is only one. With
// several causes it is what no single one of them explains, and with none it stands
// alone.
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
	rest := &Change{Level: Together, Kind: Changed, Subject: "what no single one of these changes explains"}
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
