package opref

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// Row is one operation.
type Row struct {
	Name        string      `json:"name"`        // name of the operation
	Forms       []Form      `json:"forms"`       // oldest first
	Interpreted bool        `json:"interpreted"` // the reference interpreter computes it
	Placement   []Placement `json:"placement"`   // one a target asked for
}

// Form is one form of an operation.
type Form struct {
	Since  string  `json:"since"`            // first operation set with it
	Doc    string  `json:"doc"`              // what the form computes
	Params []Param `json:"params"`           // parameters, in the order of the operation set
	Folds  bool    `json:"folds"`            // computed at compile time when its arguments are constant
	Effect string  `json:"effect,omitempty"` // random, reads or writes; empty for pure ones
	Blocks int     `json:"blocks,omitempty"` // nested blocks
}

// Param is one parameter of a form.
type Param struct {
	Name     string   `json:"name"`               // name of the parameter
	Types    []string `json:"types"`              // element types
	Kind     string   `json:"kind,omitempty"`     // if it takes no tensor
	Same     string   `json:"same,omitempty"`     // type variable: parameters that share it share an element type
	Optional bool     `json:"optional"`           // it may be omitted
	Default  string   `json:"default,omitempty"`  // as MIL text writes it
	Const    bool     `json:"const"`              // must be known at compile time
	Variadic bool     `json:"variadic,omitempty"` // it takes any number of values
}

// Placement is what one target does with an operation.
type Placement struct {
	Target string   `json:"target"`           // name of the target
	Unit   string   `json:"unit"`             // engine, cpu, transfer, or compiler when nothing is left to run
	Rule   string   `json:"rule,omitempty"`   // lowering rule, pass, or rule that it breaks
	How    string   `json:"how,omitempty"`    // what the rule makes of it
	Limits []string `json:"limits,omitempty"` // beyond the limits of every tensor
	// Beyond is what the decompositions write for arguments that the rule does not take.
	Beyond  []string `json:"beyond,omitempty"`
	Reason  string   `json:"reason,omitempty"`  // why not the engine
	Rewrite string   `json:"rewrite,omitempty"` // operations that are lowered and compute the same
	Family  string   `json:"family,omitempty"`  // from which on the vendor's validator takes the operation
	// Native is what the target's hardware does with the operation: native, bridge, gated or none; empty where no
	// published table lists it.
	Native  string         `json:"native,omitempty"`
	Verdict target.Verdict `json:"verdict,omitempty"` // what stands behind Reason
}

// compiled is the unit of what the compiler leaves nothing of.
const compiled = "compiler"

// firstSet is the operation set of rows without one.
const firstSet = "ios15"

// Rows returns the named operations, or all without names, with their placement on the targets.
func Rows(targets []*target.Table, names ...string) ([]Row, error) {
	if len(names) == 0 {
		names = ir.Names()
	}
	rows := make([]Row, 0, len(names))
	for _, n := range names {
		forms := ir.Forms(n)
		if len(forms) == 0 {
			msg := fmt.Sprintf("unknown operation %q", n)
			if near := ir.Nearest(n); near != "" {
				msg += fmt.Sprintf("; did you mean %s?", near)
			}
			return nil, fmt.Errorf("%s", msg)
		}
		r := Row{Name: n, Interpreted: interp.Supports(ir.Named(n))}
		for _, d := range forms {
			r.Forms = append(r.Forms, formOf(d))
		}
		for _, t := range targets {
			r.Placement = append(r.Placement, placementOf(ir.Named(n), t))
		}
		rows = append(rows, r)
	}
	return rows, nil
}

var effects = map[ir.Effect]string{ir.Random: "random", ir.Reads: "reads a state", ir.Writes: "writes a state"}

func formOf(d *ir.OpDef) Form {
	f := Form{
		Since:  d.Since,
		Doc:    d.Doc,
		Folds:  d.Fold != nil,
		Effect: effects[d.Effect],
		Blocks: d.Blocks,
		Params: []Param{},
	}
	f.Since = cmp.Or(f.Since, firstSet)
	for i := range d.Params {
		p := &d.Params[i]
		q := Param{
			Name:     string(p.Name),
			Types:    typesOf(p),
			Same:     p.Same,
			Optional: p.Optional,
			Const:    p.Const,
			Variadic: p.Variadic,
			Default:  defaultText(p.Default),
		}
		if p.Kind != ir.Tensor {
			q.Kind = p.Kind.String()
		}
		f.Params = append(f.Params, q)
	}
	return f
}

func typesOf(p *ir.Param) []string {
	if s := p.Types.String(); s != "" {
		return strings.Split(s, ", ")
	}
	return nil
}

// defaultText writes a default as MIL text would.
func defaultText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	case string:
		return strconv.Quote(v)
	case []int64:
		return ir.ShapeString(v)
	}
	return fmt.Sprint(v)
}

// decomposition says what the decompositions of an operation write, and for which arguments they are.
func decomposition(cs []*passes.Decomposition) (how string, limits []string) {
	for i, c := range cs {
		if i > 0 {
			how += "; or "
		}
		how += c.Name + ", " + c.Doc
		if c.Covers != "" {
			limits = append(limits, c.Name+": "+c.Covers)
		}
	}
	return how, limits
}

func placementOf(o *ir.Operation, t *target.Table) Placement {
	p := Placement{
		Target: t.Name,
		Unit:   ir.CPU.String(),
		Native: o.Native[t.Family.Generation()].String(),
	}
	if o.Gate != ir.Never {
		p.Family = string(o.Gate)
	}
	if s, ok := passes.RewrittenOps[o]; ok {
		p.Unit, p.Rule, p.How = s.Unit.String(), s.Pass, s.Doc
		if s.Unit == ir.Unplaced {
			p.Unit = compiled
		}
		if o.Class == ir.StateAccess && t.StateMultiple > 0 {
			p.Limits = []string{fmt.Sprintf("states whose last dimension is a multiple of %d", t.StateMultiple)}
		}
		return p
	}
	rule, no := lower.Explain(o, t)
	if cs := passes.DecompositionsOf(o); no != nil && no.Rule != target.RuleRecord && cs != nil {
		p.Unit, p.Rule = ir.Engine.String(), passes.RuleDecomposed
		p.How, p.Limits = decomposition(cs)
		return p
	}
	if no != nil {
		p.Rule, p.Reason, p.Rewrite = no.Rule, no.Reason, o.Instead
		p.Verdict, _ = no.Verdict()
		return p
	}
	p.Unit, p.Rule, p.How, p.Limits = ir.Engine.String(), rule.Name, rule.Doc, rule.Limits(t)
	for _, c := range passes.DecompositionsOf(o) {
		how := c.Name + ", " + c.Doc
		if c.Covers != "" {
			how += ": " + c.Covers
		}
		p.Beyond = append(p.Beyond, how)
	}
	return p
}
