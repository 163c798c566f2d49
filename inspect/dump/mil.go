package dump

import (
	"strings"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/node"
)

// describeText describes a program for JSON: its structure, with types and values as text.
func describeText(p *mil.Program) *node.Node {
	functions := node.List("functions")
	for _, f := range p.Funcs {
		n := node.Row("", "{+name}", f.Name).AddIf(f.Opset != "", node.Value("opset", f.Opset))
		functions.Add(n.Add(node.Value("line", p.File.Position(f.Pos).Line), describeParams("params", f.Params),
			describeBody(p, f.Body)))
	}
	return node.Row("", "{+version}", p.Version).Add(functions)
}

func describeParams(key string, ps []mil.Param) *node.Node {
	n := node.List(key)
	for _, p := range ps {
		n.Add(node.Row("", "{+name}{+type}", p.Name, p.Type.String()))
	}
	return n
}

func describeBody(p *mil.Program, b *mil.Block) *node.Node {
	statements, outputs := node.List("statements"), node.List("outputs")
	for _, s := range b.Stmts {
		args, blocks := node.List("args"), node.List("blocks")
		for _, a := range s.Args {
			args.Add(node.Row("", "{+name}{+value}", a.Name, valueText(p, a.Value)))
		}
		for _, n := range s.Blocks {
			blocks.Add(node.Object("", describeParams("params", n.Params), describeBody(p, n)))
		}
		n := node.Row("", "{+op}", s.Op).AddIf(s.NameAttr() != "", node.Value("name", s.NameAttr()))
		n.Add(node.Value("line", p.File.Position(s.Pos).Line), describeParams("results", s.Results), args)
		statements.Add(n.AddIf(len(s.Blocks) > 0, blocks))
	}
	for _, r := range b.Outputs {
		outputs.Add(node.Value("", r.Name))
	}
	return node.Object("", statements, outputs)
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
