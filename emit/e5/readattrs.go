package e5

import "reflect"

// attrsTypes has a value of each type of attributes, by OpType.
var attrsTypes = [...]Attrs{
	Cast: &CastAttrs{}, AneInference: &AneInferenceAttrs{}, EirInference: &EirInferenceAttrs{},
	CpuInference: &CpuInferenceAttrs{}, BnnsCpuInference: &BnnsCpuInferenceAttrs{},
	MlcCpuInference: &MlcCpuInferenceAttrs{}, MpsGraphInference: &MpsGraphInferenceAttrs{},
	E5MinimalCpu: &E5MinimalCpuAttrs{}, Quant: &QuantAttrs{}, Dequant: &DequantAttrs{}, Barrier: &BarrierAttrs{},
	JitCall: &JitCallAttrs{},
}

// attrs reads the attributes of op, whose section is named section and is at
// byte at.
func (r *reader) attrs(op *Operation, section string, at int) (Attrs, error) {
	s, err := r.take(kindOpAttrs, section+attrsSuffix, at, operationTable, "attrs_section")
	if err != nil {
		return nil, err
	}
	// The verifier has checked the tag and the member.
	tag, rec := s.root.Member("attrs")
	t := OpType(tag - 1)
	if t != op.Type {
		return nil, r.fail(s.off, opAttrsRecordTable, "attrs", "attributes of a %s in a %s", t, op.Type)
	}
	if t != CpuInference {
		a := reflect.New(reflect.TypeOf(attrsTypes[t]).Elem()).Interface().(Attrs)
		fill(rec, a)
		return a, nil
	}
	a := &CpuInferenceAttrs{Entry: rec.Text("entry"), Program: rec.Text("program")}
	for i, k := range rec.Subs("constants") {
		off, got, want := s.off+k.Off(), k.Text("section"), constantSection(section, i)
		if got != want {
			return nil, r.fail(off, cpuConstantTable, "section", "section %.200q, must be %.200q", got, want)
		}
		data, err := r.take(kindConstant, want, off, cpuConstantTable, "section")
		if err != nil {
			return nil, err
		}
		a.Constants = append(a.Constants, Constant{k.Text("name"), data.data})
	}
	return a, nil
}
