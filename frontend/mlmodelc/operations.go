package mlmodelc

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/ir"
)

// each calls visit for the statements of functions, which may be nil.
func each(fs []*mil.Func, visit func(f *mil.Func, s *mil.Stmt)) {
	for _, f := range fs {
		if f != nil {
			(&mil.Program{Funcs: []*mil.Func{f}}).Stmts(func(s *mil.Stmt) { visit(f, s) })
		}
	}
}

// constant is the operation that a histogram leaves out.
const constant = "const"

// histogram counts the operations of functions by name, in the order of their first appearance.
func histogram(fs ...*mil.Func) dictionary {
	counts := dictionary{}
	at := map[string]int{}
	each(fs, func(f *mil.Func, s *mil.Stmt) {
		if s.Op == constant {
			return
		}
		name := operationName(s.Op, f.Opset)
		i, known := at[name]
		if !known {
			i = len(counts)
			at[name] = i
			counts = append(counts, pair{name, 0})
		}
		counts[i].value = counts[i].value.(int) + 1
	})
	return counts
}

// operationName returns the name of an operation in a histogram: one that was redefined after iOS 15 has the name of
// that operation set before it.
func operationName(op, opset string) string {
	parts := strings.Split(op, "_")
	for i, p := range parts {
		if p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	name := strings.Join(parts, "")
	set := definedIn(op, opset)
	if set == "" || name == "" {
		return name
	}
	return strings.ToUpper(set[:1]) + set[1:] + "." + strings.ToLower(name[:1]) + name[1:]
}

// definedIn returns the operation set with the newest definition of an operation up to opset, "" for the set of iOS 15.
// Apple's registry has more definitions than coremltools': compiled models show that iOS 16 redefined what computes,
// iOS 17 what has two operands, and iOS 18 a pointwise operation. That the other operations of those classes, and all
// of iOS 18, go with them is inferred.
func definedIn(op, opset string) string {
	const ios16, ios17, ios18 = 16, 17, 18
	o, d, set := ir.Named(op), ir.Lookup(op, opset), ir.OpsetNumber(opset)
	if o == nil || d == nil || set < ios16 {
		return ""
	}
	switch {
	case set >= ios18 && o.Class != ir.Compressed:
		return "ios18"
	case ir.OpsetNumber(d.Since) >= ios16:
		return d.Since
	case set == ios17 && o.Class == ir.Pointwise && d.ParamIndex(ir.ParamX) >= 0 && d.ParamIndex(ir.ParamY) >= 0:
		return "ios17"
	case slices.Contains([]ir.Class{ir.Movement, ir.Resampling, ir.Control, ir.Listing}, o.Class):
		return ""
	}
	return "ios16"
}

// computePrecision names the types of the numbers that functions compute.
func computePrecision(fs ...*mil.Func) string {
	types := map[string]bool{}
	each(fs, func(_ *mil.Func, s *mil.Stmt) {
		for _, r := range s.Results {
			if name := elements[r.Type.Elem]; name != "" {
				types[name] = true
			}
		}
	})
	return mixed(types)
}

// mixed joins the names of several types, and names one alone.
func mixed(types map[string]bool) string {
	names := slices.Sorted(maps.Keys(types))
	if len(names) == 1 {
		return names[0]
	}
	return "Mixed (" + strings.Join(names, ", ") + ")"
}

// storagePrecision names the forms of the constants in weight files, "" if there are none.
func storagePrecision(fs ...*mil.Func) string {
	types := map[string]bool{}
	declared := map[string]*mil.Type{}
	each(fs, func(_ *mil.Func, s *mil.Stmt) {
		for i := range s.Results {
			declared[s.Results[i].Name] = s.Results[i].Type
		}
		for _, a := range slices.Concat(s.Args, s.Attrs) {
			b, ok := a.Value.(*mil.BlobRef)
			switch {
			case s.Op == ir.OpConstexprLUTToDense.Name && a.Name == "lut":
				if t := valueType(a.Value, declared); t != nil {
					types[fmt.Sprintf("Palettized (%d bits)", paletteBits(t))] = true
				}
			case s.Op == ir.OpConstexprSparseToDense.Name && a.Name == "mask":
				types["Sparse"] = true
			case ok && !(s.Op == ir.OpConstexprLUTToDense.Name && a.Name == "indices"):
				types[elements[b.Type.Elem]] = true
			}
		}
	})
	if len(types) == 0 {
		return ""
	}
	return mixed(types)
}

// valueType returns the type of a value, or of what it refers to; nil if that is not known.
func valueType(v mil.Value, declared map[string]*mil.Type) *mil.Type {
	if r, ok := v.(*mil.Ref); ok {
		return declared[r.Name]
	}
	return mil.TypeOf(v)
}

// paletteBits returns the bits of an index into a table: its last dimension, or the one before it where the elements
// are vectors, has the entries.
func paletteBits(lut *mil.Type) int {
	if lut.Kind != mil.TensorType || len(lut.Dims) == 0 {
		return 0
	}
	return bits.Len64(uint64(lut.Dims[max(len(lut.Dims)-2, 0)].Size)) - 1
}
