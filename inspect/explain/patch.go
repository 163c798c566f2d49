package explain

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// Patch is what a recipe writes instead of a statement, as MIL text. The constants of the text that the old statement
// names stay where they are.
type Patch struct {
	Func  string   `json:"function"`
	Name  string   `json:"name"`  // of the statement's result
	Lines []string `json:"lines"` // statements, without indentation
}

// PatchError reports a statement for which a recipe has no text.
type PatchError struct {
	Name, Why string
}

func (e *PatchError) Error() string { return fmt.Sprintf("%q: %s", e.Name, e.Why) }

// Patches returns what the named recipe writes instead of statements of a function, each named by its result. Each is
// applied to the function as the ones before left it, so all of them can be applied to one text. Patches does not
// compile the result and does not change p. A statement that the recipe cannot replace by text alone is an error of
// type *PatchError: the recipe does not apply to it, changes the function's inputs, or writes new constants that are
// too long for a text.
func Patches(p *ir.Program, recipe, function string, names []string, o compile.Options) ([]Patch, error) {
	r := recipeNamed(recipe)
	if r == nil {
		return nil, fmt.Errorf("unknown rewrite %q", recipe)
	}
	after := ir.CloneProgram(p)
	k := slices.IndexFunc(after.Funcs, func(f *ir.Func) bool { return f.Name == function })
	if k < 0 {
		return nil, fmt.Errorf("unknown function %q", function)
	}
	f := after.Funcs[k]
	own := namesOf(f)
	var out []Patch
	for _, name := range names {
		at := slices.IndexFunc(f.Body.Ops, func(op *ir.Op) bool {
			return len(op.Results) == 1 && op.Results[0].Name == name
		})
		if at < 0 {
			return nil, &PatchError{name, "the function's body has no statement with this result"}
		}
		old := f.Body.Ops[at]
		e := newEdit(narrower(o.Target, standIn(o.Target)), f, at)
		if err := e.apply(r); err != nil {
			return nil, &PatchError{name, err.Error()}
		}
		e.commit()
		if slices.Contains(e.Ops, old) {
			return nil, &PatchError{name, "the rewrite changes the function's inputs or states"}
		}
		lines, err := patchLines(p.Version, f, e.Ops, own)
		if err != nil {
			return nil, &PatchError{name, err.Error()}
		}
		out = append(out, Patch{Func: function, Name: name, Lines: lines})
	}
	return out, nil
}

// namesOf lists the names of the constants that a function's text may have statements for.
func namesOf(f *ir.Func) map[string]bool {
	out := map[string]bool{}
	ir.Walk(f, func(op *ir.Op) {
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			if v.IsConst() {
				out[v.Name] = true
			}
		})
	})
	return out
}

// patchLines writes operations of a function as statements. Constants with names in own already have statements.
func patchLines(version string, f *ir.Func, ops []*ir.Op, own map[string]bool) ([]string, error) {
	excerpt, _, _ := ir.Extract(f, f.Name, ops)
	t, err := unbuild.Program(&ir.Program{Version: version, Funcs: []*ir.Func{excerpt}}, excerptWeights)
	if err != nil {
		return nil, err
	}
	tree, list := mil.Parse("excerpt", t.MIL)
	if list.HasErrors() {
		return nil, list.Err()
	}
	var out []string
	for _, s := range tree.Funcs[0].Body.Stmts {
		if s.Op == ir.StmtConst && len(s.Results) == 1 && own[s.Results[0].Name] {
			continue
		}
		text := string(t.MIL[s.Pos-1 : s.End-1])
		if strings.Contains(text, excerptWeights) {
			return nil, errors.New("the rewrite has new constants that are too long for a text")
		}
		out = append(out, strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), " "))
	}
	return out, nil
}
