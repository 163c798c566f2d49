package explore

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/zinc-compiler/zinc/numerics"
)

// diffQuery is the body of a request to compare two compilations.
type diffQuery struct {
	A     Config `json:"a"`
	B     Config `json:"b"`
	Level string `json:"level"`
	Pass  string `json:"pass"` // of level ir, "" for the last
	Seed  uint64 `json:"seed"` // of level outputs
}

// diffRow is one row of a comparison.
type diffRow struct {
	// Op is "=" for what both have, "-" for what A has, "+" for what B has, "@" for
	// rows of both that are left out.
	Op   string `json:"op"`
	A    int    `json:"a,omitempty"` // number of the row in its text, from 1
	B    int    `json:"b,omitempty"`
	Text string `json:"text"`
}

// diffAnswer is the answer to a comparison.
type diffAnswer struct {
	Level   string    `json:"level"`
	A       *summary  `json:"a"`
	B       *summary  `json:"b"`
	Same    bool      `json:"same"`
	Removed int       `json:"removed"`
	Added   int       `json:"added"`
	Rows    []diffRow `json:"rows"`
	Omitted int       `json:"omitted,omitempty"` // rows past the limit
}

// level is a form in which two compilations are compared: the rows of each.
type level struct {
	name string
	// lowered says that both sides must have a pair.
	lowered bool
	rows    func(s *Server, ctx context.Context, v *view, q *diffQuery) ([]string, error)
}

var levels = []level{
	{"mil", false, func(_ *Server, _ context.Context, v *view, _ *diffQuery) ([]string, error) {
		return strings.Split(v.source(), "\n"), nil
	}},
	{"ir", false, irRows},
	{"placement", false, placementRows},
	{"tasks", true, nil}, // aligned by what they came from, see diffTasks
	{"container", true, containerRows},
	{"chain", true, chainRows},
	{"outputs", true, outputRows},
}

func (v *view) source() string {
	if v.config.Text != nil {
		return *v.config.Text
	}
	return v.model.text
}

func (s *Server) diffRequest(r *http.Request) (any, error) {
	var q diffQuery
	if err := body(r, &q); err != nil {
		return nil, err
	}
	var l *level
	var names []string
	for i := range levels {
		names = append(names, levels[i].name)
		if levels[i].name == q.Level {
			l = &levels[i]
		}
	}
	if l == nil {
		return nil, bad("level is %q, wanted %s", cut(q.Level), strings.Join(names, ", "))
	}
	out := &diffAnswer{Level: q.Level, Rows: []diffRow{}}
	var views [2]*view
	for i, c := range []*Config{&q.A, &q.B} {
		m, err := s.model(c.Model)
		if err != nil {
			return nil, err
		}
		v, release, err := s.compile(r.Context(), m, c)
		if err != nil {
			return nil, fmt.Errorf("side %c: %w", "ab"[i], err)
		}
		defer release()
		views[i] = v
		sum, err := v.summary()
		if err != nil {
			return nil, err
		}
		if i == 0 {
			out.A = sum
		} else {
			out.B = sum
		}
		if l.lowered && v.files == nil {
			return nil, &requestError{http.StatusConflict, fmt.Errorf("side %c has no pair, which level %s compares: %s", "ab"[i], l.name, noPair(v))}
		}
	}
	var rows []diffRow
	if l.rows == nil {
		var err error
		if rows, err = diffTasks(views[0], views[1]); err != nil {
			return nil, err
		}
	} else {
		a, err := l.rows(s, r.Context(), views[0], &q)
		if err != nil {
			return nil, err
		}
		b, err := l.rows(s, r.Context(), views[1], &q)
		if err != nil {
			return nil, err
		}
		rows = diffLines(a, b)
	}
	for _, x := range rows {
		switch x.Op {
		case "-":
			out.Removed++
		case "+":
			out.Added++
		}
	}
	out.Same = out.Removed+out.Added == 0
	rows = folded(rows)
	out.Omitted = max(len(rows)-mostLines, 0)
	out.Rows = append(out.Rows, rows[:min(len(rows), mostLines)]...)
	return out, nil
}

func noPair(v *view) string {
	if v.placed {
		return "zinc writes no programs for target " + v.config.Target
	}
	return "the compilation failed"
}

func irRows(_ *Server, _ context.Context, v *view, q *diffQuery) ([]string, error) {
	var out []string
	found := q.Pass == ""
	for i, p := range v.passes {
		last := i+1 == len(v.passes) || v.passes[i+1].Func != p.Func
		if q.Pass == p.Pass || q.Pass == "" && last {
			found = true
			for k := range p.lines {
				out = append(out, p.lines[k].Text)
			}
		}
	}
	if !found && v.report != nil {
		return nil, bad("pass is %q, which is no pass", cut(q.Pass))
	}
	return out, nil
}

func placementRows(_ *Server, _ context.Context, v *view, _ *diffQuery) ([]string, error) {
	if v.report == nil {
		return nil, nil
	}
	var out []string
	for i := range v.report.Ops {
		o := &v.report.Ops[i]
		text := fmt.Sprintf("%s %s: %s", o.Op, o.Name, o.Unit)
		if o.Rule != "" {
			text += " by " + o.Rule
		}
		if o.Reason != "" {
			text += ": " + o.Reason
		}
		out = append(out, text)
	}
	return out, nil
}

func containerRows(_ *Server, _ context.Context, v *view, _ *diffQuery) ([]string, error) {
	m := v.container
	out := []string{fmt.Sprintf("%d bytes, %d ports, %d tensors, %d symbols, %d relocations", m.Size, m.Ports, m.Tensors, m.Symbols, m.Relocs)}
	for _, p := range m.Parts {
		name := p.Segment
		if p.Section != "" {
			name += "," + p.Section
		}
		out = append(out, fmt.Sprintf("%s: %#x bytes, %d relocations", name, p.Size, p.Relocs))
	}
	for _, p := range m.Procedures {
		out = append(out, fmt.Sprintf("procedure %s: %d tasks, %d buffer-access registers", p.Name, p.Tasks, len(p.Bars)))
	}
	return out, nil
}

func chainRows(_ *Server, _ context.Context, v *view, _ *diffQuery) ([]string, error) {
	var out []string
	for _, f := range v.chain {
		out = append(out, "function "+f.Name)
		for _, o := range f.Operations {
			text := o.Type
			if o.Detail != "" {
				text += ", " + o.Detail
			}
			for _, list := range []struct {
				what string
				of   []operand
			}{{" <-", o.Inputs}, {" ->", o.Outputs}} {
				text += list.what
				for _, x := range list.of {
					text += fmt.Sprintf(" %s %s", x.Name, x.Type)
				}
			}
			out = append(out, text)
		}
	}
	return out, nil
}

// outputRows runs the pair and lists the outputs' summaries.
func outputRows(s *Server, ctx context.Context, v *view, q *diffQuery) ([]string, error) {
	_, out, err := s.run(ctx, v, runRequest{Seed: q.Seed}, numerics.ANE)
	if err != nil {
		return nil, err
	}
	var rows []string
	for _, t := range out {
		d := describe(t)
		rows = append(rows, fmt.Sprintf("%s %s: min %.6g max %.6g mean %.6g, %d not finite", d.Name, d.Type, float64(d.Min), float64(d.Max), float64(d.Mean), d.Odd))
		for i, x := range d.First {
			rows = append(rows, fmt.Sprintf("%s[%d] = %.6g", d.Name, i, float64(x)))
		}
	}
	return rows, nil
}
