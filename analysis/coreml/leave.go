package coreml

import (
	"cmp"
	"fmt"
	"slices"
)

// Leave is a reason why operations are not on the engine.
type Leave struct {
	Reason     string   `json:"reason"`          // in the framework's words, or what the engine would save
	Operations int      `json:"operations"`      // how many
	Kinds      []string `json:"kinds"`           // their kinds without opsets, the most frequent first
	Lines      []int32  `json:"lines,omitempty"` // where they are in the model's text, at most maxLeaveLines
}

// maxLeaveLines is the number of lines that a reason lists.
const maxLeaveLines = 8

// Leaves groups the program's operations that are not on the engine by reason: first those that the engine refuses, the
// most frequent reason first, then those that are cheaper elsewhere.
func (p *Plan) Leaves() []Leave {
	type group struct {
		Leave
		kinds map[string]int
	}
	by := map[string]*group{}
	var refused []*group
	cheaper := &group{kinds: map[string]int{}}
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Chosen == Engine || r.Inserted != "" {
			continue
		}
		g := cheaper
		if why := r.Reasons[Engine]; why != "" {
			if by[why] == nil {
				by[why] = &group{Leave: Leave{Reason: why}, kinds: map[string]int{}}
				refused = append(refused, by[why])
			}
			g = by[why]
		}
		g.Operations++
		g.kinds[r.Operator()]++
		if r.Pos.IsValid() && len(g.Lines) < maxLeaveLines {
			g.Lines = append(g.Lines, r.Pos.Line)
		}
	}
	slices.SortStableFunc(refused, func(a, b *group) int { return cmp.Compare(b.Operations, a.Operations) })
	groups := refused
	if cheaper.Operations > 0 {
		cheaper.Reason = p.cheaperReason()
		groups = append(groups, cheaper)
	}
	out := make([]Leave, len(groups))
	for i, g := range groups {
		for k := range g.kinds {
			g.Kinds = append(g.Kinds, k)
		}
		slices.SortFunc(g.Kinds, func(a, b string) int {
			return cmp.Or(cmp.Compare(g.kinds[b], g.kinds[a]), cmp.Compare(a, b))
		})
		out[i] = g.Leave
	}
	return out
}

// cheaperReason says why operations that the engine can run are not there.
func (p *Plan) cheaperReason() string {
	switch backends, err := p.Units.Backends(); {
	case err != nil || !backends.Has(Engine):
		return fmt.Sprintf("the compute units %s do not include the engine", p.Units)
	case p.Spare < 0:
		return "cheaper on the CPU"
	}
	return fmt.Sprintf("cheaper on the CPU: the engine would save at most %.3f ms, and a visit costs %s ms", p.Spare,
		short(p.Gain.Visit))
}
