package e5

import (
	"fmt"
	"math"
	"slices"
)

func (*EirInferenceAttrs) check(_, _ []*Operand) string      { return "" }
func (*BnnsCpuInferenceAttrs) check(_, _ []*Operand) string  { return "" }
func (*MlcCpuInferenceAttrs) check(_, _ []*Operand) string   { return "" }
func (*MpsGraphInferenceAttrs) check(_, _ []*Operand) string { return "" }
func (*E5MinimalCpuAttrs) check(_, _ []*Operand) string      { return "" }
func (*BarrierAttrs) check(_, _ []*Operand) string           { return "" }
func (*JitCallAttrs) check(_, _ []*Operand) string           { return "" }

func (a *QuantAttrs) check(_, _ []*Operand) string {
	return checkScales(a.SrcDType, a.DstDType, a.Scales, a.ZeroPoints)
}

func (a *DequantAttrs) check(_, _ []*Operand) string {
	return checkScales(a.SrcDType, a.DstDType, a.Scales, a.ZeroPoints)
}

func (a *CastAttrs) check(in, out []*Operand) string {
	if len(in) != 1 || len(out) != 1 {
		return fmt.Sprintf("a Cast has one input and one output, got %d and %d", len(in), len(out))
	}
	src, dst := &in[0].Desc, &out[0].Desc
	if src.Storage != a.SrcDType || dst.Storage != a.DstDType {
		return fmt.Sprintf("cast from %s to %s between operands of %s and %s", a.SrcDType, a.DstDType, src.Storage,
			dst.Storage)
	}
	if pack := max(src.ComponentPack, dst.ComponentPack, 1); a.ComponentPack < 0 || max(a.ComponentPack, 1) != pack {
		return fmt.Sprintf("component pack %d, but that of the operands is %d", a.ComponentPack, pack)
	}
	if src.Unknown() != dst.Unknown() || src.Unknown() && src.Storage != dst.Storage {
		return fmt.Sprintf("cast from %s to %s: a tensor with unknown extents can only be copied to another one "+
			"unchanged", src, dst)
	}
	if s, d := src.Elements(), dst.Elements(); s != d {
		return fmt.Sprintf("cast of %d elements to %d", s, d)
	}
	return ""
}

func (a *AneInferenceAttrs) check(in, out []*Operand) string {
	for _, o := range slices.Concat(in, out) {
		if o.Aperture != Surface {
			return fmt.Sprintf("an AneInference works on surfaces, but operand %.80q is %s", o.Name, o.Aperture)
		}
	}
	if a.ProcedureName == "" {
		return "procedure_name is empty"
	}
	hex := len(a.AneHash) == 64
	for i := 0; i < len(a.AneHash); i++ {
		c := a.AneHash[i]
		hex = hex && (c >= '0' && c <= '9' || c >= 'a' && c <= 'f')
	}
	if !hex {
		return fmt.Sprintf("anehash %.80q is not 64 lower-case hex digits", a.AneHash)
	}
	return ""
}

func (a *CpuInferenceAttrs) check(_, _ []*Operand) string {
	seen := make(map[string]bool, len(a.Constants))
	for i := range a.Constants {
		name := a.Constants[i].Name
		if msg := badName(name); msg != "" {
			return fmt.Sprintf("constant %d: %s", i, msg)
		}
		if seen[name] {
			return fmt.Sprintf("constant %d: name %.80q is taken", i, name)
		}
		seen[name] = true
	}
	return ""
}

func checkScales(src, dst StorageType, scales []float32, zeros []int32) string {
	if !src.Valid() || !dst.Valid() {
		return fmt.Sprintf("element types %d and %d are not both in the catalog", int32(src), int32(dst))
	}
	if len(scales) == 0 || len(scales) != len(zeros) {
		return fmt.Sprintf("%d scales and %d zero points, want equal numbers, at least one", len(scales), len(zeros))
	}
	for i, s := range scales {
		if f := float64(s); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Sprintf("scale %d is %v, must be finite", i, s)
		}
	}
	return ""
}
