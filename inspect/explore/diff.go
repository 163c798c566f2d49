package explore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/inspect/compare"
	"github.com/zinc-compiler/zinc/internal/diag"
)

// diffQuery is the body of a request to compare two compilations.
type diffQuery struct {
	A       Config   `json:"a"`
	B       Config   `json:"b"`
	Levels  []string `json:"levels"`  // of compare.Levels; empty means all
	Outputs bool     `json:"outputs"` // run both on the same seeded inputs
	Seed    uint64   `json:"seed"`
	Bytes   bool     `json:"bytes"` // also list the byte ranges that differ
}

// diffAnswer is the answer to a comparison: the result of compare.Compare, with the places in the texts as numbers.
type diffAnswer struct {
	A       diffSide           `json:"a"`
	B       diffSide           `json:"b"`
	Same    bool               `json:"same"`
	Levels  []compare.Coverage `json:"levels"`
	Cost    []string           `json:"cost"`    // what a call takes on both sides, a line a figure that differs
	Figures []compare.Figure   `json:"figures"` // the same as numbers, with those that are equal
	Changes []diffChange       `json:"changes"`
	Omitted int                `json:"omitted,omitempty"` // changes past the limit
	// Ranges are the byte ranges that differ; NoBytes says why there are none.
	Ranges        []compare.Range `json:"ranges"`
	RangesOmitted int             `json:"ranges_omitted,omitempty"`
	NoBytes       string          `json:"no_bytes,omitempty"`
}

// diffSide is the result for one side.
type diffSide struct {
	Model     string   `json:"model"`
	Version   string   `json:"version"`
	Target    string   `json:"target"`
	Settings  []string `json:"settings"` // flags that are not the default
	OK        bool     `json:"ok"`
	Placement string   `json:"placement,omitempty"`
	NoPair    string   `json:"no_pair,omitempty"`
	Error     string   `json:"error,omitempty"`
	Places    []place  `json:"places,omitempty"`
}

// diffChange is one change and its effects at the levels below.
type diffChange struct {
	Level   compare.Level `json:"level"`
	Kind    compare.Kind  `json:"kind"`
	Subject string        `json:"subject"`
	LineA   int           `json:"line_a,omitempty"`
	LineB   int           `json:"line_b,omitempty"`
	Details []string      `json:"details"`
	More    int           `json:"more_details,omitempty"`
	Effects []diffChange  `json:"effects,omitempty"`
	Left    int           `json:"more_effects,omitempty"`
}

// Bounds of an answer.
const (
	maxChanges = 2000
	maxEffects = 500
	maxDetails = 100
	maxRanges  = 4096
)

func (s *Server) diffRequest(r *http.Request) (any, error) {
	var q diffQuery
	if err := body(r, &q); err != nil {
		return nil, err
	}
	o := compare.Options{Seed: q.Seed, Outputs: q.Outputs, CallBytes: int64(s.limits.Buffers)}
	for _, name := range q.Levels {
		if !slices.Contains(compare.LevelNames(), name) {
			return nil, bad("level is %q, want one of %s", cut(name), strings.Join(compare.LevelNames(), ", "))
		}
		if l := compare.Level(name); !slices.Contains(o.Levels, l) {
			o.Levels = append(o.Levels, l)
		}
	}
	out := &diffAnswer{Levels: []compare.Coverage{}, Cost: []string{}, Figures: []compare.Figure{},
		Changes: []diffChange{}, Ranges: []compare.Range{}}
	var sides [2]*compare.Side
	for _, c := range []*Config{&q.A, &q.B} {
		m, err := s.model(c.Model)
		if err != nil {
			return nil, err
		}
		if err := c.resolve(m, s.versions); err != nil {
			return nil, &requestError{http.StatusBadRequest, err}
		}
	}
	for i, c := range []*Config{&q.A, &q.B} {
		x := []*diffSide{&out.A, &out.B}[i]
		v, release, err := s.side(r.Context(), c, q.Outputs)
		if err != nil {
			return nil, fmt.Errorf("side %c: %w", "AB"[i], err)
		}
		defer release()
		sides[i] = v.side
		*x = diffSide{
			Model:    c.Model,
			Version:  c.Version,
			Target:   c.Target,
			Settings: []string{},
			OK:       v.side != nil,
			Error:    s.discreet(v.failure),
		}
		if v.list != nil {
			x.Error, x.Places = errorCount(v.list.Errors()), places(v.list)
		}
	}
	if sides[0] == nil || sides[1] == nil {
		return out, nil
	}
	if err := s.compare(r.Context(), sides, o, q.Bytes, out); err != nil {
		return nil, err
	}
	return out, nil
}

// side returns the side of a resolved configuration. A side that will run must be within the limits of runs.
func (s *Server) side(ctx context.Context, c *Config, run bool) (*sideView, func(), error) {
	m, err := s.model(c.Model)
	if err != nil {
		return nil, nil, err
	}
	if run {
		v, release, err := s.compile(ctx, m, c)
		if err != nil {
			return nil, nil, err
		}
		defer release()
		if v.files != nil {
			if err := s.runnable(v); err != nil {
				return nil, nil, err
			}
		}
	}
	resolved := *c
	return s.sides.get(ctx, c.key(m, s.version(c)), func(ctx context.Context) (*sideView, error) {
		return s.openSide(ctx, m, resolved)
	})
}

// compare fills an answer. Sides cache intermediate results without locks, so only one comparison runs at a time.
func (s *Server) compare(ctx context.Context, sides [2]*compare.Side, o compare.Options, ranges bool,
	out *diffAnswer) (err error) {
	leave, err := s.comparing.enter(ctx, "comparing")
	if err != nil {
		return err
	}
	defer leave()
	ctx, stop, explain := s.limits.guard(ctx, "comparing")
	defer stop()
	defer s.rescue("comparing", &err)
	r, err := compare.Compare(ctx, sides[0], sides[1], o)
	if err = explain(err); err != nil {
		if isLimit(err) || isFault(err) {
			return err
		}
		return &requestError{http.StatusUnprocessableEntity, errors.New(s.discreet(err.Error()))}
	}
	out.Same, out.Levels = r.Same, r.Levels
	out.Cost = append(out.Cost, r.CostLines()...)
	out.Figures = append(out.Figures, r.Cost...)
	for i := range out.Levels {
		out.Levels[i].Missing = s.discreet(out.Levels[i].Missing)
	}
	for i, x := range []*compare.Summary{&r.A, &r.B} {
		d := []*diffSide{&out.A, &out.B}[i]
		d.Placement, d.NoPair = x.Placement, s.discreet(x.NoPair)
		d.Settings = append(d.Settings, x.Settings...)
	}
	out.Omitted = max(len(r.Changes)-maxChanges, 0)
	for _, c := range r.Changes[:min(len(r.Changes), maxChanges)] {
		out.Changes = append(out.Changes, s.changeView(c))
	}
	if !ranges {
		return nil
	}
	list, err := compare.Bytes(sides[0], sides[1])
	if err != nil {
		out.NoBytes = s.discreet(err.Error())
		return nil
	}
	out.RangesOmitted = max(len(list)-maxRanges, 0)
	out.Ranges = list[:min(len(list), maxRanges)]
	return nil
}

// changeView shows a change. A line of it may contain a whole statement or a message of another version.
func (s *Server) changeView(c *compare.Change) diffChange {
	x := diffChange{
		Level:   c.Level,
		Kind:    c.Kind,
		Subject: clip(c.Subject),
		LineA:   lineOf(c.A),
		LineB:   lineOf(c.B),
		Details: []string{},
	}
	for _, d := range c.Details[:min(len(c.Details), maxDetails)] {
		x.Details = append(x.Details, clip(s.discreet(d)))
	}
	x.More = max(len(c.Details)-maxDetails, 0)
	for _, e := range c.Effects[:min(len(c.Effects), maxEffects)] {
		x.Effects = append(x.Effects, s.changeView(e))
	}
	x.Left = max(len(c.Effects)-maxEffects, 0)
	return x
}

// lineOf returns the line of a place file:line:col, or 0.
func lineOf(place string) int {
	parts := strings.Split(place, ":")
	if len(parts) < 3 {
		return 0
	}
	n, err := strconv.Atoi(parts[len(parts)-2])
	if err != nil {
		return 0
	}
	return n
}

// errorCount describes the number of errors.
func errorCount(n int) string {
	if n == 1 {
		return "1 error"
	}
	return fmt.Sprintf("%d errors", n)
}

// places are the diagnostics of a list, as many as an answer holds.
func places(l *diag.List) []place {
	var out []place
	for _, d := range l.All()[:min(len(l.All()), maxPlaces)] {
		p := d.Span.Position()
		out = append(out, place{
			Line:     p.Line,
			Column:   p.Column,
			Severity: d.Severity.String(),
			Code:     d.Code,
			Text:     d.Text(),
		})
	}
	return out
}

// noPair returns why a view has no pair.
func noPair(v *view) error {
	if v.placed {
		return errors.New("zinc writes no programs for target " + v.config.Target)
	}
	return errFailed
}

// discreet replaces paths of executables by the names of their versions and removes folders of the server, so that
// messages do not show them.
func (s *Server) discreet(text string) string {
	for _, v := range s.versions {
		text = strings.ReplaceAll(text, v.Executable.Path, v.Name)
	}
	return s.folders.ReplaceAllString(text, "")
}
