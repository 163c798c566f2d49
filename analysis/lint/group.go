package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/lint/witness"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/ir"
)

// A Group is findings with one cause: a rule at statements of the same operation, unit and type, as the layers of a
// network repeat them, with the same certainty.
type Group struct {
	Rule  string `json:"rule"`  // rule of the findings
	State string `json:"state"` // how certain the findings are
	// Gap is the least of the group's findings.
	Gap verify.Number `json:"gap"`
	// Findings are indices of the function's findings, those whose recorded values come
	// closest to the limit first.
	Findings []int `json:"findings"`
}

// A Root is a value whose range has no bounds although the ranges of its operands do: the statements that depend on it
// cannot be judged.
type Root struct {
	Value  string `json:"value"`            // name of the value
	Op     string `json:"op,omitempty"`     // that computes it; none for inputs and states
	File   string `json:"file,omitempty"`   // file of the statement
	Line   int32  `json:"line,omitempty"`   // line of the statement, from 1
	Col    int32  `json:"column,omitempty"` // column of the statement, from 1
	Behind int    `json:"behind"`           // statements not judged because of it
	// Rule is the rule of the finding about it, if there is one.
	Rule    string `json:"rule,omitempty"`
	Instead string `json:"instead"` // what to do so that the value has bounds
}

// group groups findings by cause and ranks the groups: by certainty, then by how close recorded values come to the
// limit, then by place. Of equal certainty, those that are to be repaired first come before those after them.
func (f *Function) group() {
	f.Groups = []*Group{}
	at := map[string]*Group{}
	for i, x := range f.Findings {
		key := fmt.Sprintf("%s|%s|%s|%s|%s", x.Rule, x.State, x.Op, x.Unit, x.typ)
		g := at[key]
		if g == nil {
			g = &Group{Rule: x.Rule, State: x.State, Gap: x.Gap}
			at[key] = g
			f.Groups = append(f.Groups, g)
		}
		if witness.CompareGrowth(x.Gap, g.Gap) < 0 {
			g.Gap = x.Gap
		}
		g.Findings = append(g.Findings, i)
	}
	for _, g := range f.Groups {
		slices.SortStableFunc(g.Findings, func(i, j int) int {
			return witness.CompareGrowth(f.Findings[i].Gap, f.Findings[j].Gap)
		})
	}
	slices.SortStableFunc(f.Groups, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(slices.Index(States, a.State), slices.Index(States, b.State)),
			cmp.Compare(f.later(a), f.later(b)), witness.CompareGrowth(a.Gap, b.Gap))
	})
}

// later is 1 for a group whose findings all come after another that is to be repaired first, else 0.
func (f *Function) later(g *Group) int {
	for _, i := range g.Findings {
		if f.Findings[i].First == "" {
			return 0
		}
	}
	return 1
}

// causes returns for each operation the first operation it depends on whose result is repaired; none for others.
func (a *analysis) causes() map[*ir.Op]*ir.Op {
	out := map[*ir.Op]*ir.Op{}
	if len(a.repaired) == 0 {
		return out
	}
	from := map[*ir.Value]*ir.Op{}
	for _, op := range a.ops {
		var first *ir.Op
		op.Reads(func(v *ir.Value) {
			if first == nil {
				first = from[v]
			}
		})
		if first != nil {
			out[op] = first
		}
		for _, r := range op.Results {
			if _, ok := a.repaired[r]; ok && first == nil {
				from[r] = op
				continue
			}
			from[r] = first
		}
	}
	return out
}

// unbounded reports whether a value is a computed float without bounds.
func (a *analysis) unbounded(v *ir.Value) bool {
	return v.Const == nil && v.Type.Kind == ir.Tensor && v.Type.DType.IsFloat() && !a.Range(v).Finite()
}

// roots finds where ranges lose their bounds, once each, with the number of
// statements that cannot be judged because of it; the largest first.
func roots(a *analysis, files []string, findings []*Finding) []*Root {
	from := map[*ir.Value]*ir.Value{}
	count := map[*ir.Value]int{}
	var order []*ir.Value
	for _, op := range a.ops {
		var root *ir.Value
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			if root != nil || !a.unbounded(v) {
				return
			}
			if root = from[v]; root == nil {
				root = v
			}
		})
		if root != nil && len(op.Results) > 0 {
			if count[root] == 0 {
				order = append(order, root)
			}
			count[root]++
		}
		if root != nil {
			for _, r := range op.Results {
				from[r] = root
			}
		}
	}
	out := []*Root{}
	for _, v := range order {
		r := &Root{Value: witness.ValueLabel(v), Behind: count[v], Instead: remedy(v)}
		pos := v.Pos
		if v.Def != nil {
			r.Op, pos = v.Def.Def.Name, v.Def.Pos
		}
		if pos.IsValid() {
			r.Line, r.Col = pos.Line, pos.Col
			if int(pos.File) < len(files) {
				r.File = files[pos.File]
			}
		}
		for _, x := range findings {
			if v.Def != nil && x.op == v.Def {
				r.Rule, r.Instead = x.Rule, x.Instead
				break
			}
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b *Root) int { return cmp.Compare(b.Behind, a.Behind) })
	return out
}

// remedy suggests how to bound the range of a value.
func remedy(v *ir.Value) string {
	const clip = "Clip it to the intended values."
	switch {
	case v.Def == nil && v.Type.Kind == ir.State:
		return fmt.Sprintf("Pass the range of the state %s.", v.Name)
	case v.Def == nil:
		return "It is a variable of a loop, whose iterations are not followed. " + clip
	}
	o := v.Def.Def.Operation
	if state, value := v.Def.Def.StateParams(); state != "" && value == "" {
		return fmt.Sprintf("Pass the range of the state %s.", v.Def.Arg(state).Name)
	}
	switch {
	case o == ir.OpRealDiv || o == ir.OpInverse:
		return "Pass the ranges of the inputs, or keep the divisor away from 0: the maximum " +
			"with a small positive number, or an epsilon added."
	case o == ir.OpLog || o == ir.OpRsqrt:
		return "Pass the ranges of the inputs, or keep the argument above 0: the maximum " +
			"with a small positive number, or an epsilon of at least 6.1e-5."
	case o == ir.OpWhileLoop:
		return "The iterations of a loop are not followed. " + clip
	case !Modelled(o):
		return "The range of the operation is known only from its type. " + clip
	case o.Class == ir.Product:
		return "Scale the operands down, or clip them."
	}
	return clip
}
