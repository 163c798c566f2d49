package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/ir"
)

// maxNodes bounds the search from an origin to the statements that name it.
const maxNodes = 64

// from returns the qualified names of the nearest statements that nodes came from.
func (s *Side) from(nodes ...provenance.NodeID) (out []string) {
	if s.told == nil {
		return nil
	}
	for _, n := range nodes {
		names, ok := s.memo[n]
		if !ok {
			for _, i := range s.told.Brief(provenance.Ref{Node: n}, maxNodes).Statements {
				st := &s.told.Statements[i]
				names = append(names, qualified(st.Func, st.Name))
			}
			s.memo[n] = names
		}
		for _, x := range names {
			if !slices.Contains(out, x) {
				out = append(out, x)
			}
		}
	}
	return out
}

// key returns the key of parts that came from a node: its statements, with their names on side B.
func (s *Side) key(n provenance.NodeID) string {
	names := append([]string(nil), s.from(n)...)
	for i, x := range names {
		if y, ok := s.renamed[x]; ok {
			names[i] = x[:strings.IndexByte(x, 0)+1] + y
		}
	}
	return strings.Join(names, "\x01")
}

// maxLabels bounds the operations in a label.
const maxLabels = 3

// label names a node by its operations, including fused ones, or by its constant if it has no operations.
func (s *Side) label(n provenance.NodeID) string {
	var ops, others []string
	for _, i := range s.told.Brief(provenance.Ref{Node: n}, maxNodes).Statements {
		st := &s.told.Statements[i]
		if name := st.Op + " " + st.Name; st.Op == constOp {
			others = append(others, name)
		} else {
			ops = append(ops, name)
		}
	}
	switch {
	case len(ops) > maxLabels:
		return strings.Join(ops[:maxLabels], ", ") + fmt.Sprintf(" and %d more", len(ops)-maxLabels)
	case len(ops) > 0:
		return strings.Join(ops, ", ")
	case len(others) > 0:
		return others[0]
	}
	return "the compiler"
}

// origins returns the qualified names of the statements of origins.
func origins(roots ...*ir.Origin) (out []string) {
	var queue []*ir.Origin
	seen := map[*ir.Origin]bool{}
	push := func(x *ir.Origin) {
		if x != nil && !seen[x] && len(queue) < maxNodes {
			seen[x] = true
			queue = append(queue, x)
		}
	}
	for _, x := range roots {
		push(x)
	}
	for i := 0; i < len(queue); i++ {
		if st := queue[i].Stmt; st != nil {
			if n := qualified(st.Func, st.Name); !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
		for _, f := range queue[i].From {
			push(f)
		}
	}
	return out
}
