package convert

import (
	"maps"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/frontend/mil"
)

// buildInfo is the attribute of a program that names the tools that wrote it.
const buildInfo = "buildInfo"

// VersionKey is the entry of build information with the version of zinc.
const VersionKey = "zinc-version"

// compilerKeys begin the keys of build information that a model compiler writes.
var compilerKeys = []string{"coremlc-", VersionKey}

// setBuildInfo replaces what model compilers wrote about themselves by the entries of a compiler. Without entries of
// any tool the attribute is removed, and a compiled model always has it.
func setBuildInfo(p *mil.Program, compiler map[string]string) {
	all := maps.Clone(compiler)
	if all == nil {
		all = map[string]string{}
	}
	if a := mil.FindArg(p.Attrs, buildInfo); a != nil {
		if d, ok := a.Value.(*mil.Dict); ok {
			for _, e := range d.Entries {
				key, ok1 := mil.TextOf(e.Key)
				value, ok2 := mil.TextOf(e.Value)
				own := slices.ContainsFunc(compilerKeys, func(k string) bool { return strings.HasPrefix(key, k) })
				if _, set := all[key]; ok1 && ok2 && !own && !set {
					all[key] = value
				}
			}
		}
		i := slices.IndexFunc(p.Attrs, func(a mil.Arg) bool { return a.Name == buildInfo })
		p.Attrs = slices.Delete(slices.Clone(p.Attrs), i, i+1)
	}
	if len(all) == 0 {
		if len(p.Attrs) == 0 {
			p.Attrs = nil
		}
		return
	}
	text := func(s string) mil.Value { return mil.StringLiteral(nil, nil, []string{s}) }
	d := &mil.Dict{}
	d.Type = &mil.Type{Kind: mil.DictType}
	for range 2 {
		d.Type.Args = append(d.Type.Args, &mil.Type{Kind: mil.TensorType, Elem: "string"})
	}
	for _, k := range slices.Sorted(maps.Keys(all)) {
		d.Entries = append(d.Entries, mil.Entry{Key: text(k), Value: text(all[k])})
	}
	p.Attrs = append(p.Attrs, mil.Arg{Name: buildInfo, Value: d})
}
