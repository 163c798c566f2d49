package mutants

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Named is a mutation that is written out: a part of a file and what replaces it.
type Named struct {
	File string // path from the root of the module
	Old  string // an expression or statements that the file has once; a space is any white space
	New  string // an expression of the same type, or statements
}

// LoadNamed finds the sites of mutations that are written out, in the module at root. They are in the order of the
// list.
func LoadNamed(root string, list []Named) (*Source, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	s := &Source{root: root, files: map[string][]byte{}, ends: map[string]int{}}
	parsed := map[string]*ast.File{}
	set := token.NewFileSet()
	for _, n := range list {
		if parsed[n.File] == nil {
			src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(n.File)))
			if err != nil {
				return nil, err
			}
			f, err := parser.ParseFile(set, n.File, src, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			parsed[n.File], s.files[n.File] = f, src
			s.ends[n.File] = set.Position(f.Name.End()).Offset
		}
		site, err := n.find(set, parsed[n.File], s.files[n.File])
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", n.File, n.Old, err)
		}
		s.Sites = append(s.Sites, site)
	}
	return s, nil
}

// find returns the site of a mutation in a file.
func (n *Named) find(set *token.FileSet, file *ast.File, src []byte) (*Site, error) {
	pattern := strings.Join(strings.Fields(regexp.QuoteMeta(n.Old)), `\s+`)
	at := regexp.MustCompile(pattern).FindAllIndex(src, 2)
	if len(at) != 1 {
		return nil, fmt.Errorf("the file has it %d times, want once", len(at))
	}
	from, to := at[0][0], at[0][1]
	s := &Site{File: n.File, Line: 1 + strings.Count(string(src[:from]), "\n"), Kind: Written,
		Text: n.Old + " => " + n.New, from: from, to: to, with: n.New}
	begins, ends := false, false // a statement
	depth := 0
	ast.Inspect(file, func(x ast.Node) bool {
		if x == nil {
			depth--
			return false
		}
		depth++
		begin, end := set.Position(x.Pos()).Offset, set.Position(x.End()).Offset
		switch x.(type) {
		case ast.Stmt:
			begins = begins || begin == from
			ends = ends || end == to
		case ast.Expr:
			if begin == from && end == to && s.name == "" {
				s.name = "Value"
			}
		}
		if begin == from && s.depth == 0 {
			s.depth = depth
		}
		return true
	})
	switch {
	case begins && ends:
		s.name = "Keep"
	case s.name == "":
		return nil, fmt.Errorf("it is neither an expression nor a statement")
	case n.New == "":
		return nil, fmt.Errorf("an expression cannot be left out")
	}
	return s, nil
}
