package explore

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds of scopes. The work is bounded by counts: the search for repetitions compares at most maxCompared pairs.
const (
	leastBlock  = 4       // operations of a block that is folded
	maxCompared = 8 << 20 // pairs of operations
	maxTop      = 120     // nodes of a level that is not split into parts
	partSize    = 40      // operations of a part
)

// scopesOf divides a graph's operations into scopes and sets their Scope. Scopes are sequences of the program, so
// folding them leaves no cycle. labels names the largest constant of each node.
func scopesOf(g *graphAnswer, labels []string) []graphScope {
	s := &scoper{g: g, labels: labels, scopes: []graphScope{}, left: maxCompared}
	first := slices.IndexFunc(g.Nodes, func(n graphNode) bool { return n.Op != "input" })
	last := len(g.Nodes)
	for last > 0 && g.Nodes[last-1].Op == "output" {
		last--
	}
	if first < 0 || first >= last {
		return s.scopes
	}
	kinds := map[string]int{}
	s.kind = make([]int, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		key := n.Op + " " + n.Type
		if _, ok := kinds[key]; !ok {
			kinds[key] = len(kinds)
		}
		s.kind[i] = kinds[key]
	}
	s.live = make([]int, len(g.Nodes)+2)
	end := make([]int, len(g.Nodes)) // last reader of each node
	for _, e := range g.Edges {
		end[e[0]] = max(end[e[0]], e[1])
	}
	for i, e := range end {
		if e > i { // live from i+1 to e
			s.live[i+1]++
			s.live[e+1]--
		}
	}
	for i := 1; i < len(s.live); i++ {
		s.live[i] += s.live[i-1]
	}
	s.divide(first, last, -1)
	s.parts(-1, first, last)
	return s.scopes
}

// scoper is one division.
type scoper struct {
	g      *graphAnswer
	labels []string
	kind   []int // of each node: operation and type
	live   []int // values that an earlier node computes and that a node or a later one reads
	scopes []graphScope
	left   int // pairs that may still be compared
}

// divide finds the block whose repetition covers most of the nodes from lo to hi, makes each iteration a scope, and
// goes on in what is left and in the iterations.
func (s *scoper) divide(lo, hi, parent int) {
	at, period, times := s.repeated(lo, hi)
	if times < 2 {
		return
	}
	s.divide(lo, at, parent)
	all := len(s.scopes)
	s.scopes = append(s.scopes, graphScope{Parent: parent, First: at, Count: times * period, Repeat: times, Index: -1})
	for k := range times {
		from := at + k*period
		id := len(s.scopes)
		s.scopes = append(s.scopes, graphScope{Parent: all, First: from, Count: period, Repeat: times, Index: k})
		for i := from; i < from+period; i++ {
			s.g.Nodes[i].Scope = id
		}
		s.scopes[id].Name = s.name(id)
		if period >= maxTop {
			s.divide(from, from+period, id)
			s.parts(id, from, from+period)
		}
	}
	s.scopes[all].Name = s.series(all)
	s.divide(at+period*times, hi, parent)
}

// repeated returns the first node, the length and the number of iterations of the repetition that covers most nodes, of
// the shortest block among equals. Where the repetition may begin at several nodes, it begins where the fewest values
// are live.
func (s *scoper) repeated(lo, hi int) (at, period, times int) {
	most := 0
	slack := 0
	for p := leastBlock; p <= (hi-lo)/2; p++ {
		for i := lo; i+p < hi; {
			run := 0
			for i+run+p < hi && s.kind[i+run] == s.kind[i+run+p] {
				run++
			}
			s.left -= run + 1
			if s.left < 0 {
				return at, period, times
			}
			if n := run/p + 1; n > 1 && n*p > most {
				most, at, period, times = n*p, i, p, n
				slack = run + p - n*p
			}
			i += run + 1
		}
	}
	best := at
	for i := at; i <= at+slack && times > 1; i++ {
		if s.live[i] < s.live[best] {
			best = i
		}
	}
	return best, period, times
}

// parts divides what is at one level into parts if it is too much to look at.
func (s *scoper) parts(parent, lo, hi int) {
	var own []int // nodes of the level
	shown := 0
	last := -1
	for i := lo; i < hi; i++ {
		switch sc := s.g.Nodes[i].Scope; {
		case sc == parent:
			own = append(own, i)
			shown++
		case sc != last:
			shown++
			last = sc
		}
	}
	if shown <= maxTop {
		return
	}
	for len(own) > 0 {
		// A part is a sequence: it ends before the next scope.
		n := 1
		for n < len(own) && n < partSize && own[n] == own[n-1]+1 {
			n++
		}
		if n >= leastBlock {
			id := len(s.scopes)
			s.scopes = append(s.scopes, graphScope{Parent: parent, First: own[0], Count: n, Repeat: 1})
			for _, i := range own[:n] {
				s.g.Nodes[i].Scope = id
			}
			s.scopes[id].Name = s.name(id)
		}
		own = own[n:]
	}
}

// series names a block with all its iterations, by the first and the last.
func (s *scoper) series(id int) string {
	first, last := s.scopes[id+1].Name, ""
	for _, x := range s.scopes[id:] {
		if x.Parent == id {
			last = x.Name
		}
	}
	at := strings.LastIndexByte(first, '.') + 1
	switch {
	case first == last:
		return first
	case strings.HasPrefix(last, first[:at]) && isNumber(first[at:]) && isNumber(last[at:]):
		return first + " to " + last[at:]
	}
	return fmt.Sprintf("%d blocks", s.scopes[id].Repeat)
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }

// name names a scope by the words that the names of its constants begin with: of all, else of most. Without such
// words its operations name it.
func (s *scoper) name(id int) string {
	c := &s.scopes[id]
	var common []string
	found := false
	votes := map[string]int{} // beginnings that end in a number, as of the layers of a network
	best := ""
	for _, l := range s.labels[c.First : c.First+c.Count] {
		if l == "" {
			continue
		}
		words := strings.FieldsFunc(l, func(r rune) bool { return r == '_' || r == '.' || r == '/' })
		if k := slices.IndexFunc(words, isNumber); k > 0 {
			v := strings.Join(words[:k+1], ".")
			if votes[v]++; votes[v] > votes[best] {
				best = v
			}
		}
		if !found {
			common, found = words, true
			continue
		}
		k := 0
		for k < len(common) && k < len(words) && common[k] == words[k] {
			k++
		}
		common = common[:k]
	}
	switch {
	case len(common) > 0:
		return strings.Join(common, ".")
	case best != "":
		return best
	}
	if c.Repeat > 1 {
		return fmt.Sprintf("block %d of %d", c.Index+1, c.Repeat)
	}
	return fmt.Sprintf("%s to %s", s.g.Nodes[c.First].Op, s.g.Nodes[c.First+c.Count-1].Op)
}
