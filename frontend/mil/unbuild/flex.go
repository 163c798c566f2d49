package unbuild

import (
	"maps"
	"slices"
	"strconv"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/ir"
)

// FlexAttr is the attribute of a function with the shapes of its inputs.
const FlexAttr = "FlexibleShapeInformation"

// Flexible returns the attribute with the shapes of a function's inputs: their default shapes, then the ranges of their
// dimensions or their enumerated shapes. It is nil if there are none. str returns a new node of the type of a string.
func Flexible(x *ir.Flexible, str func() *mil.Type) *mil.Arg {
	open := func() []mil.Dim { return []mil.Dim{{Kind: mil.UnknownDim}} }
	dict := func(t *mil.Type) *mil.Type { return &mil.Type{Kind: mil.DictType, Args: []*mil.Type{str(), t}} }
	shape := func() *mil.Type { return dict(&mil.Type{Kind: mil.TensorType, Elem: "int32", Dims: open()}) }
	pair := &mil.Type{Kind: mil.TensorType, Elem: "int32", Dims: []mil.Dim{{Size: 2}}}

	top := &mil.Tuple{}
	top.Type = &mil.Type{Kind: mil.TupleType}
	add := func(word string, d *mil.Dict, t *mil.Type) {
		if len(d.Entries) == 0 {
			return
		}
		top.Type.Args = append(top.Type.Args, &mil.Type{Kind: mil.TupleType, Args: []*mil.Type{str(), t}})
		top.Elems = append(top.Elems, &mil.Tuple{Elems: []mil.Value{quoted(word), d}})
	}
	add("DefaultShapes", shapesOf(x.Default), shape())
	ranges := &mil.Dict{}
	for _, name := range slices.Sorted(maps.Keys(x.Ranges)) {
		var flat []int64
		for _, r := range x.Ranges[name] {
			flat = append(flat, r[0], r[1])
		}
		ranges.Entries = append(ranges.Entries, mil.Entry{
			Key:   quoted(name),
			Value: mil.IntLiteral(nil, []int{len(flat) / 2, 2}, flat),
		})
	}
	add("RangeDims", ranges, dict(&mil.Type{Kind: mil.ListType, Dims: open(), Args: []*mil.Type{pair}}))
	configs := &mil.Dict{}
	for i, c := range x.Enums {
		configs.Entries = append(configs.Entries, mil.Entry{Key: quoted(strconv.Itoa(i)), Value: shapesOf(c)})
	}
	add("EnumeratedShapes", configs, dict(shape()))
	if len(top.Elems) == 0 {
		return nil
	}
	return &mil.Arg{Name: FlexAttr, Value: top}
}

func quoted(s string) *mil.Literal { return mil.StringLiteral(nil, nil, []string{s}) }

// shapesOf returns a dictionary of shapes by input.
func shapesOf(m map[string][]int64) *mil.Dict {
	d := &mil.Dict{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		d.Entries = append(d.Entries, mil.Entry{
			Key:   quoted(name),
			Value: mil.IntLiteral(nil, []int{len(m[name])}, m[name]),
		})
	}
	return d
}
