package computeplan

import (
	"bytes"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/frontend/mil"
)

// IsAnalytics reports whether a text is the MIL text of Core ML's analytics, which has the model's operations too.
func IsAnalytics(src []byte) bool {
	s := strings.TrimLeft(strings.TrimPrefix(string(src), "\ufeff"), " \t\r\n")
	return isProgram.MatchString(s) && isAnalytics(s)
}

// ModelText returns the program of the analytics' MIL text as a model's: without copies between buffers and tensors,
// and without what Core ML decided. Names are the model's.
func ModelText(file string, src []byte) ([]byte, error) {
	text := strings.ReplaceAll(strings.TrimPrefix(string(src), "\ufeff"), borderSuffix, "")
	p, err := Program(file, text)
	if err != nil {
		return nil, err
	}
	for _, f := range p.Funcs {
		f.Attrs = nil
		m := modelBlock{names: map[string]string{}}
		m.block(f.Body)
	}
	var b bytes.Buffer
	if err := mil.Print(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// A modelBlock changes the operations of a function.
type modelBlock struct {
	names map[string]string // results of copies: what was copied
}

func (m *modelBlock) block(b *mil.Block) {
	b.Stmts = slices.DeleteFunc(b.Stmts, func(s *mil.Stmt) bool {
		for i := range s.Args {
			m.value(s.Args[i].Value)
		}
		set, kind := splitKind(s.Op)
		s.Op = kind
		if set != "" {
			s.OpOpset = set
		}
		if copies.MatchString(kind) && len(s.Args) == 1 && len(s.Results) == 1 {
			if from, ok := s.Args[0].Value.(*mil.Ref); ok {
				m.names[s.Results[0].Name] = from.Name
				return true
			}
		}
		s.Attrs = slices.DeleteFunc(s.Attrs, func(a mil.Arg) bool { return a.Name != "name" })
		if len(s.Attrs) == 0 {
			s.Attrs = nil
		}
		for _, inner := range s.Blocks {
			m.block(inner)
		}
		return false
	})
	for i := range b.Outputs {
		m.value(&b.Outputs[i])
	}
}

// value renames the results of copies in a value.
func (m *modelBlock) value(v mil.Value) {
	switch v := v.(type) {
	case *mil.Ref:
		if from, ok := m.names[v.Name]; ok {
			v.Name = from
		}
	case *mil.Tuple:
		for _, e := range v.Elems {
			m.value(e)
		}
	case *mil.List:
		for _, e := range v.Elems {
			m.value(e)
		}
	}
}
