package dump

import (
	"strings"

	"github.com/zinc-compiler/zinc/frontend/mil"
)

// programJSON is the JSON form of MIL text: its structure, with types and values as text.
type programJSON struct {
	Version   string         `json:"version"`
	Functions []functionJSON `json:"functions"`
}

type functionJSON struct {
	Name   string      `json:"name"`
	Opset  string      `json:"opset,omitempty"`
	Line   int         `json:"line"`
	Params []paramJSON `json:"params"`
	blockJSON
}

type blockJSON struct {
	Statements []stmtJSON `json:"statements"`
	Outputs    []string   `json:"outputs"`
}

type nestedJSON struct {
	Params []paramJSON `json:"params"`
	blockJSON
}

type paramJSON struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

type stmtJSON struct {
	Op      string       `json:"op"`
	Name    string       `json:"name,omitempty"` // of the name attribute
	Line    int          `json:"line"`
	Results []paramJSON  `json:"results"`
	Args    []argJSON    `json:"args"`
	Blocks  []nestedJSON `json:"blocks,omitempty"`
}

type argJSON struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// textJSON converts a program.
func textJSON(p *mil.Program) programJSON {
	out := programJSON{Version: p.Version, Functions: []functionJSON{}}
	for _, f := range p.Funcs {
		out.Functions = append(out.Functions, functionJSON{
			Name: f.Name, Opset: f.Opset, Line: p.File.Position(f.Pos).Line,
			Params: paramsJSON(f.Params), blockJSON: bodyJSON(p, f.Body),
		})
	}
	return out
}

func paramsJSON(ps []mil.Param) []paramJSON {
	out := []paramJSON{}
	for _, p := range ps {
		out = append(out, paramJSON{p.Name, p.Type.String()})
	}
	return out
}

func bodyJSON(p *mil.Program, b *mil.Block) blockJSON {
	out := blockJSON{Statements: []stmtJSON{}, Outputs: []string{}}
	for _, s := range b.Stmts {
		j := stmtJSON{
			Op:      s.Op,
			Name:    s.NameAttr(),
			Line:    p.File.Position(s.Pos).Line,
			Results: paramsJSON(s.Results),
			Args:    []argJSON{},
		}
		for _, a := range s.Args {
			j.Args = append(j.Args, argJSON{a.Name, valueText(p, a.Value)})
		}
		for _, n := range s.Blocks {
			j.Blocks = append(j.Blocks, nestedJSON{paramsJSON(n.Params), bodyJSON(p, n)})
		}
		out.Statements = append(out.Statements, j)
	}
	for _, r := range b.Outputs {
		out.Outputs = append(out.Outputs, r.Name)
	}
	return out
}

// shownValue is the length in bytes beyond which a value is shortened.
const shownValue = 256

// valueText returns a value as written in the source; a long one is shortened.
func valueText(p *mil.Program, v mil.Value) string {
	s := p.File.Src[v.Pos().Offset():v.End().Offset()]
	if len(s) > shownValue {
		return strings.ToValidUTF8(s[:shownValue], "") + "..."
	}
	return s
}
