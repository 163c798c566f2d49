package e5

import (
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/zinc-compiler/zinc/emit/e5/internal/fb"
)

// attrsReaders fill the attributes of each type of operation except CpuInference, which needs other sections too.
var attrsReaders = [...]func(flatbuffers.Table) Attrs{
	Cast: func(tab flatbuffers.Table) Attrs {
		t := open[fb.CastAttrs](tab)
		return &CastAttrs{StorageType(t.SrcDtype()), StorageType(t.DstDtype()), t.ComponentPack()}
	},
	AneInference: func(tab flatbuffers.Table) Attrs {
		t := open[fb.AneInferenceAttrs](tab)
		return &AneInferenceAttrs{ProcedureName: string(t.ProcedureName()), AneHash: string(t.Anehash()),
			ProgramSymbol:            string(t.ProgramSymbol()),
			IntermediateBufferHandle: t.IntermediateBufferHandle(), CompilerOptions: string(t.CompilerOptions())}
	},
	EirInference: func(tab flatbuffers.Table) Attrs {
		t := open[fb.EirInferenceAttrs](tab)
		return &EirInferenceAttrs{string(t.ProgramName()), bytesOf(t.ProgramBytes())}
	},
	CpuInference: nil,
	BnnsCpuInference: func(tab flatbuffers.Table) Attrs {
		t := open[fb.BnnsCpuInferenceAttrs](tab)
		return &BnnsCpuInferenceAttrs{string(t.FunctionName()), string(t.BundlePath())}
	},
	MlcCpuInference: func(tab flatbuffers.Table) Attrs {
		t := open[fb.MlcCpuInferenceAttrs](tab)
		return &MlcCpuInferenceAttrs{string(t.GraphName()), bytesOf(t.GraphBytes())}
	},
	MpsGraphInference: func(tab flatbuffers.Table) Attrs {
		t := open[fb.MpsGraphInferenceAttrs](tab)
		return &MpsGraphInferenceAttrs{string(t.PackagePath()), string(t.EntryPoint())}
	},
	E5MinimalCpu: func(tab flatbuffers.Table) Attrs {
		t := open[fb.E5MinimalCpuAttrs](tab)
		return &E5MinimalCpuAttrs{string(t.KernelName()), bytesOf(t.ParametersBytes())}
	},
	Quant: func(tab flatbuffers.Table) Attrs {
		t := open[fb.QuantAttrs](tab)
		a := &QuantAttrs{SrcDType: StorageType(t.SrcDtype()), DstDType: StorageType(t.DstDtype()), Axis: t.Axis()}
		a.Scales, a.ZeroPoints = scales(t)
		return a
	},
	Dequant: func(tab flatbuffers.Table) Attrs {
		t := open[fb.DequantAttrs](tab)
		a := &DequantAttrs{SrcDType: StorageType(t.SrcDtype()), DstDType: StorageType(t.DstDtype()), Axis: t.Axis()}
		a.Scales, a.ZeroPoints = scales(t)
		return a
	},
	Barrier: func(tab flatbuffers.Table) Attrs {
		t := open[fb.BarrierAttrs](tab)
		return &BarrierAttrs{uint32s(t.EventsLength(), t.Events)}
	},
	JitCall: func(tab flatbuffers.Table) Attrs {
		t := open[fb.JitCallAttrs](tab)
		return &JitCallAttrs{string(t.Symbol()), string(t.Library())}
	},
}

// open returns the accessors of the member of a union.
func open[T any, P interface {
	*T
	Init([]byte, flatbuffers.UOffsetT)
}](tab flatbuffers.Table) P {
	p := P(new(T))
	p.Init(tab.Bytes, tab.Pos)
	return p
}

// scaled is the set of accessors that QuantAttrs and DequantAttrs share.
type scaled interface {
	Scales(int) float32
	ScalesLength() int
	ZeroPoints(int) int32
	ZeroPointsLength() int
}

func scales(t scaled) (s []float32, z []int32) {
	for i := range t.ScalesLength() {
		s = append(s, t.Scales(i))
	}
	for i := range t.ZeroPointsLength() {
		z = append(z, t.ZeroPoints(i))
	}
	return s, z
}

// attrs reads the attributes of op, whose section is named section and is at
// byte at.
func (r *reader) attrs(op *Operation, section string, at int) (Attrs, error) {
	s, err := r.take(kindOpAttrs, section+attrsSuffix, at, operationTable, "attrs_section")
	if err != nil {
		return nil, err
	}
	rec := fb.GetRootAsOpAttrsRecord(s.data, 0)
	// The verifier has checked the tag and the member.
	t := OpType(rec.AttrsType() - 1)
	if t != op.Type {
		return nil, r.fail(s.off, opAttrsRecordTable, "attrs", "attributes of a %s in a %s", t, op.Type)
	}
	var tab flatbuffers.Table
	rec.Attrs(&tab)
	if read := attrsReaders[t]; read != nil {
		return read(tab), nil
	}
	c := open[fb.CpuInferenceAttrs](tab)
	a := &CpuInferenceAttrs{Entry: string(c.Entry()), Program: string(c.Program())}
	var k fb.CpuConstant
	for i := range c.ConstantsLength() {
		c.Constants(&k, i)
		off := s.off + int(k.Table().Pos)
		want := constantSection(section, i)
		if string(k.Section()) != want {
			return nil, r.fail(off, cpuConstantTable, "section", "section %.200q, must be %.200q", k.Section(), want)
		}
		data, err := r.take(kindConstant, want, off, cpuConstantTable, "section")
		if err != nil {
			return nil, err
		}
		a.Constants = append(a.Constants, Constant{string(k.Name()), bytesOf(data.data)})
	}
	return a, nil
}
