package mutants

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

const activePath = "github.com/zinc-compiler/zinc/internal/test/mutants/active"

// alias is the name under which mutated files import package active.
const alias = "activemutant"

// Source is the loaded source of packages.
type Source struct {
	Sites []*Site

	root  string
	files map[string][]byte // by path from the root
	ends  map[string]int    // offset behind the package clause
}

// Load reads the packages that match patterns in the module at root, and finds their sites. Tests and generated files
// have none.
func Load(root string, patterns ...string) (*Source, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	list, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
		Dir: root,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	s := &Source{root: root, files: map[string][]byte{}, ends: map[string]int{}}
	for _, p := range list {
		for _, e := range p.Errors {
			return nil, e
		}
		if p.Name == "main" {
			continue
		}
		for _, file := range p.Syntax {
			if err := s.add(p, file); err != nil {
				return nil, err
			}
		}
	}
	if len(s.Sites) == 0 {
		return nil, fmt.Errorf("%s: no place to mutate", strings.Join(patterns, " "))
	}
	return s, nil
}

// add adds the sites of a file.
func (s *Source) add(p *packages.Package, file *ast.File) error {
	if ast.IsGenerated(file) {
		return nil
	}
	src, err := os.ReadFile(p.Fset.Position(file.Pos()).Filename)
	if err != nil {
		return err
	}
	sites, err := find(p, file, s.root, src)
	if err != nil || len(sites) == 0 {
		return err
	}
	s.Sites = append(s.Sites, sites...)
	s.files[sites[0].File] = src
	s.ends[sites[0].File] = p.Fset.Position(file.Name.End()).Offset
	return nil
}

// Choose returns n sites, chosen by seed and by what the sites say: a site that does not change stays chosen when other
// places of the source change. They are in the order of the source.
func (s *Source) Choose(n int, seed uint64) []*Site {
	type ranked struct {
		*Site
		order int
		rank  uint64
	}
	count := map[string]int{}
	var list []ranked
	for i, site := range s.Sites {
		key := fmt.Sprintf("%d %s %s %s %s", seed, site.Package, site.Func, site.Kind, site.Text)
		h := fnv.New64a()
		fmt.Fprintf(h, "%s %d", key, count[key])
		count[key]++
		// FNV of keys with equal beginnings differs in its low bits most.
		list = append(list, ranked{site, i, (h.Sum64() ^ h.Sum64()>>32) * 0x9e3779b97f4a7c15})
	}
	slices.SortFunc(list, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	list = list[:min(n, len(list))]
	slices.SortFunc(list, func(a, b ranked) int { return cmp.Compare(a.order, b.order) })
	var chosen []*Site
	for _, r := range list {
		chosen = append(chosen, r.Site)
	}
	return chosen
}

// Overlay writes the mutated sources and overlay.json, whose path it returns, into dir. numbers has the number of each
// mutant.
func (s *Source) Overlay(dir string, numbers map[*Site]int) (string, error) {
	replace := map[string]string{}
	byFile := map[string][]*Site{}
	for site := range numbers {
		byFile[site.File] = append(byFile[site.File], site)
	}
	for file, sites := range byFile {
		to := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return "", err
		}
		if err := os.WriteFile(to, s.rewrite(file, sites, numbers), 0o666); err != nil {
			return "", err
		}
		replace[filepath.Join(s.root, filepath.FromSlash(file))] = to
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, text, 0o666)
}

// edit replaces the bytes of a file from at on by text.
type edit struct {
	at, cut int
	text    string
	order   int // of edits at the same place
}

// rewrite returns a file with the mutations of sites beside the original.
func (s *Source) rewrite(file string, sites []*Site, numbers map[*Site]int) []byte {
	edits := []edit{{at: s.ends[file], text: fmt.Sprintf("; import %s %q", alias, activePath)}}
	for _, m := range sites {
		open, end := fmt.Sprintf("%s.%s%s(%d, ", alias, m.name, m.types, numbers[m]), ")"
		switch {
		case m.Kind == Written && m.name == "Keep":
			open, end = fmt.Sprintf("if %s.%s(%d) { ", alias, m.name, numbers[m]), " } else { "+m.with+" }"
		case m.Kind == Written:
			end = ", " + m.with + ")"
		case m.Kind == Statement:
			open, end = fmt.Sprintf("if %s.%s(%d) { ", alias, m.name, numbers[m]), " }"
		}
		// The ends of what begins last come first, then the beginnings of what ends last. Two mutations of one
		// expression are told apart by their numbers.
		level := 2*m.depth*(len(s.Sites)+1) + 2*numbers[m]
		edits = append(edits, edit{at: m.from, text: open, order: level}, edit{at: m.to, text: end, order: -level})
		if m.op > 0 {
			edits = append(edits, edit{at: m.op, cut: m.opLen, text: ","})
		}
	}
	slices.SortFunc(edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order))
	})
	var out bytes.Buffer
	src, from := s.files[file], 0
	for _, e := range edits {
		out.Write(src[from:e.at])
		out.WriteString(e.text)
		from = e.at + e.cut
	}
	out.Write(src[from:])
	return out.Bytes()
}
