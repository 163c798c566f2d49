package e5

import (
	"slices"
	"testing"
)

// linked returns a function of three inferences: the second reads what the first writes, the third what the second
// writes and a further input. cast is put between the second and the third.
func linked(cast func(f *Function, from, to uint32)) *Function {
	f := &Function{Name: "main"}
	var ids []uint32
	for i := range 2 {
		id := f.AddOperand(host([]string{"x", "y"}[i], HostInput, FP16, 1, 8))
		f.Inputs = append(f.Inputs, id)
		ids = append(ids, f.AddOperand(surface([]string{"x", "y"}[i], 0, 1, 8)))
		f.AddOp([]uint32{id}, []uint32{ids[i]}, &CastAttrs{SrcDType: FP16, DstDType: FP16, ComponentPack: 1})
	}
	infer := func(name string, in ...uint32) uint32 {
		out := f.AddOperand(surface(name+"@output", 0, 1, 8))
		f.AddOp(in, []uint32{out}, &AneInferenceAttrs{ProcedureName: name})
		return out
	}
	pass := func(from uint32, name string) uint32 {
		to := f.AddOperand(surface(name, 0, 1, 8))
		f.AddOp([]uint32{from}, []uint32{to}, &CastAttrs{SrcDType: FP16, DstDType: FP16, ComponentPack: 1})
		return to
	}
	b := infer("b", pass(infer("a", ids[0]), "a"))
	to := f.AddOperand(surface("b", 0, 1, 8))
	cast(f, b, to)
	c := infer("c", to, ids[1])
	out := f.AddOperand(host("out", HostOutput, FP16, 1, 8))
	f.AddOp([]uint32{c}, []uint32{out}, &CastAttrs{SrcDType: FP16, DstDType: FP16, ComponentPack: 1})
	f.Outputs = []uint32{out}
	return f
}

func TestChainsEndWhereTheHostHasWork(t *testing.T) {
	size := func(f *Function, id uint32) uint64 { return f.Operands[id].Port.ByteSize }
	direct := func(f *Function, from, to uint32) {
		f.AddOp([]uint32{from}, []uint32{to}, &CastAttrs{SrcDType: FP16, DstDType: FP16, ComponentPack: 1})
	}
	f := linked(direct)
	row := size(f, 1)
	got := f.Chains()
	in, out := got[0].HandedIn, got[0].HandedOut
	if len(got) != 1 || !slices.Equal(got[0].Inferences, []int{2, 4, 6}) || in != 2*row || out != row {
		t.Errorf("%+v, want one chain of three inferences that the host hands %d bytes, and takes %d from", got, 2*row,
			row)
	}
	if p := f.Passes(); len(p) != 2 || !p[3] || !p[5] {
		t.Errorf("casts that pass surfaces on are %v, want 3 and 5", p)
	}
	f = linked(func(f *Function, from, to uint32) { // the host copies
		mid := f.AddOperand(host("mid", Intermediate, FP16, 1, 8))
		direct(f, from, mid)
		direct(f, mid, to)
	})
	got = f.Chains()
	want := [2][2]uint64{{row, row}, {2 * row, row}}
	if len(got) != 2 || len(got[0].Inferences) != 2 ||
		[2][2]uint64{{got[0].HandedIn, got[0].HandedOut}, {got[1].HandedIn, got[1].HandedOut}} != want {
		t.Errorf("%+v, want two chains with %d bytes in and out", got, want)
	}
	f = linked(func(f *Function, from, to uint32) { // another layout
		f.Operands[to].Desc.Stride[0] *= 2
		f.Operands[to].Port.ByteSize *= 2
		direct(f, from, to)
	})
	if got = f.Chains(); len(got) != 2 {
		t.Errorf("%+v, want a chain to end at a cast between layouts", got)
	}
}
