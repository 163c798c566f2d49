package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
)

// Shapes says for which shapes of flexible inputs the numbers of a report are, and how to get others; "" if all inputs
// have one shape.
func Shapes(r *compile.Report) string {
	var have []string
	unknown := ""
	for i := range r.Flexible {
		x := &r.Flexible[i]
		is := x.Input + " = " + extents(x.Shape)
		if len(r.Functions) > 0 {
			is += " in " + x.Function
		}
		if have = append(have, is); slices.Contains(x.Shape, -1) && unknown == "" {
			unknown = x.Input
		}
	}
	if len(have) == 0 {
		return ""
	}
	text := "For " + strings.Join(have, ", ")
	if unknown != "" {
		text += ": work on unknown dimensions has no time and stays on the CPU"
	}
	return text + "; others with --shape " + another(&r.Flexible[0])
}

// extents formats a shape as the option for shapes reads it, with ? for an unknown dimension.
func extents(shape []int64) string {
	if len(shape) == 0 {
		return "scalar"
	}
	var out []string
	for _, d := range shape {
		if d < 0 {
			out = append(out, "?")
			continue
		}
		out = append(out, strconv.FormatInt(d, 10))
	}
	return strings.Join(out, "x")
}

// another writes a shape for an input that the report is not for: a listed one, or with N for dimensions that are free.
func another(x *compile.FlexibleInput) string {
	if len(x.Listed) > 0 {
		return x.Input + "=" + extents(x.Listed[0])
	}
	var out []string
	for i, d := range x.Shape {
		free := d < 0 || i < len(x.Ranges) && x.Ranges[i][0] != x.Ranges[i][1]
		if out = append(out, strconv.FormatInt(d, 10)); free {
			out[i] = "N"
		}
	}
	return fmt.Sprintf("%s=%s", x.Input, strings.Join(out, "x"))
}
