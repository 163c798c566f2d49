package compare

import (
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/target"
)

// limits compares the targets of the two sides: every column of their tables.
func (p *pairing) limits() ([]*Change, error) {
	if p.a.target == p.b.target {
		return nil, nil
	}
	docs := map[string]string{}
	for _, c := range p.a.target.Columns() {
		docs[c.Name] = c.Doc
	}
	d := attributes(columns(p.a.target), columns(p.b.target))
	for i, x := range d {
		name, _, _ := strings.Cut(x, ":")
		d[i] = x + " (" + docs[name] + ")"
	}
	if len(d) > 0 {
		return []*Change{newChange(Limits, Changed, "limits of "+p.b.target.Name+" compared with those of "+
			p.a.target.Name, []string{setting("target")}, d...)}, nil
	}
	return nil, nil
}

// columns lists a target's table by the names of its columns.
func columns(t *target.Table) (out []attribute) {
	for _, c := range t.Columns()[1:] { // the first is the name
		out = append(out, attribute{c.Name, fmt.Sprint(c.Value)})
	}
	return out
}
