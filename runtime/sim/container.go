package sim

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
)

// elementFP16 is the element code of fp16, the only type the engine executes.
const elementFP16 = 5

// surface is a bound tensor as the container itself describes it: n, c, h, w.
type surface struct {
	name   string
	output bool
	size   uint64 // bytes of its window
	dim    []uint64
	stride []uint64 // bytes
}

// descriptorOf returns a descriptor for a container that has none, with the given hash: a function that runs its one
// procedure. The inputs and outputs are its bound tensors in fp16, with the shapes and strides that the container
// states.
//
// A container with several procedures is an error: only the descriptor says in which order they run and what they pass
// to each other.
func descriptorOf(f *hwx.File, hash string) (*e5.Program, error) {
	procs := f.Procedures()
	if len(procs) != 1 {
		return nil, fmt.Errorf("it has %d procedures and no descriptor that states their order; load the pair instead",
			len(procs))
	}
	name := procs[0].Name
	surfaces, err := surfacesOf(f)
	if err != nil {
		return nil, err
	}
	fn := &e5.Function{Name: name}
	var ins, outs []uint32
	for i := range surfaces {
		s := &surfaces[i]
		id := fn.AddOperand(e5.Operand{Name: s.name, Aperture: e5.Surface, Port: e5.IOPort{Name: s.name,
			ByteSize: s.size},
			Desc: e5.TensorDescriptor{Dim: s.dim, Stride: s.stride, Storage: e5.FP16, ComponentPack: 1}})
		if s.output {
			outs = append(outs, id)
			continue
		}
		host, err := hostOperand(fn, id, e5.HostInput)
		if err != nil {
			return nil, err
		}
		fn.Inputs = append(fn.Inputs, host)
		fn.AddOp([]uint32{host}, []uint32{id}, &e5.CastAttrs{SrcDType: e5.FP16, DstDType: e5.FP16, ComponentPack: 1})
		ins = append(ins, id)
	}
	fn.AddOp(ins, outs, &e5.AneInferenceAttrs{ProcedureName: name, AneHash: hash})
	for _, id := range outs {
		host, err := hostOperand(fn, id, e5.HostOutput)
		if err != nil {
			return nil, err
		}
		fn.Outputs = append(fn.Outputs, host)
		fn.AddOp([]uint32{id}, []uint32{host}, &e5.CastAttrs{SrcDType: e5.FP16, DstDType: e5.FP16, ComponentPack: 1})
	}
	return &e5.Program{Functions: []e5.Function{*fn}}, nil
}

// hostOperand adds the packed form of a surface.
func hostOperand(f *e5.Function, id uint32, a e5.Aperture) (uint32, error) {
	o := &f.Operands[id]
	desc := e5.HostDescriptor(e5.FP16, o.Desc.Dim...)
	size, err := desc.Extent()
	if err != nil {
		return 0, fmt.Errorf("tensor %q: %w", o.Name, err)
	}
	return f.AddOperand(e5.Operand{
		Name:     o.Name,
		Desc:     desc,
		Aperture: a,
		Port:     e5.IOPort{Name: o.Name, ByteSize: size},
	}), nil
}

// surfacesOf lists what the procedure reads and writes: the bound tensors in the order of their commands. If the
// container binds none, its ports describe it: the section of the window gives the direction, the symbol of the port's
// name the shape; without a symbol, the whole window is one row.
func surfacesOf(f *hwx.File) ([]surface, error) {
	windows := map[string]*hwx.Section{}
	for _, p := range f.Ports() {
		seg := f.SegmentAt(uint64(p.Addr))
		if seg == nil || len(seg.Sections) == 0 {
			return nil, fmt.Errorf("port %q is bound to %#x, which is in no section", p.Name, p.Addr)
		}
		windows[p.Name] = seg.Sections[0]
	}
	var out []surface
	for _, t := range f.Tensors() {
		w := windows[t.Name]
		switch {
		case w == nil:
			return nil, fmt.Errorf("tensor %q is not bound to a port", t.Name)
		case t.Binding != hwx.BindInput && t.Binding != hwx.BindOutput:
			return nil, fmt.Errorf("tensor %q: binding %d is neither input (%d) nor output (%d)", t.Name, t.Binding,
				hwx.BindInput, hwx.BindOutput)
		case t.Depth > 1:
			return nil, fmt.Errorf("tensor %q has depth %d; only depth 1 is supported, since the container states "+
				"no depth stride", t.Name,
				t.Depth)
		}
		s := surface{name: t.Name, output: t.Binding == hwx.BindOutput, size: w.Size}
		for i := range t.Dims {
			s.dim, s.stride = append(s.dim, uint64(t.Dims[i])), append(s.stride, t.Strides[i])
		}
		if err := s.check(t.Element); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	if out != nil {
		return out, nil
	}
	shapes := shapeSymbols(f)
	for _, p := range f.Ports() {
		w := windows[p.Name]
		s, ok := shapes[p.Name]
		if !ok {
			s = shape{
				dim:     []uint64{1, 1, 1, w.Size / 2},
				stride:  []uint64{w.Size, w.Size, w.Size, 2},
				element: elementFP16,
			}
		}
		b := surface{name: p.Name, output: w.Flags&0xff == hwx.SectOutput, size: w.Size, dim: s.dim, stride: s.stride}
		if err := b.check(s.element); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// check returns an error for element types other than fp16 and for layouts that leave the window or in which elements
// overlap.
func (s *surface) check(element uint32) error {
	if element != elementFP16 {
		return fmt.Errorf("tensor %q has element code %d; only fp16 (%d) is supported", s.name, element, elementFP16)
	}
	count := uint64(1)
	for i, n := range s.dim {
		hi, lo := bits.Mul64(count, n)
		if n == 0 || hi != 0 || lo > s.size/2 {
			return fmt.Errorf("tensor %q: extents %v: the elements exceed the window at axis %d "+
				"(%#x bytes)", s.name, s.dim, i, s.size)
		}
		count = lo
		if s.stride[i]%2 != 0 {
			return fmt.Errorf("tensor %q: stride %d of axis %d is not a whole number of fp16 elements", s.name,
				s.stride[i], i)
		}
	}
	if last := len(s.dim) - 1; s.dim[last] > 1 && s.stride[last] < 2 {
		return fmt.Errorf("tensor %q: stride %d of axis %d makes elements overlap", s.name, s.stride[last],
			last)
	}
	d := e5.TensorDescriptor{Dim: s.dim, Stride: s.stride, Storage: e5.FP16}
	n, err := d.Extent()
	if err != nil {
		return fmt.Errorf("tensor %q: %w", s.name, err)
	}
	if n > s.size {
		return fmt.Errorf("tensor %q: extents %v with strides %v take %#x bytes; its window has %#x", s.name, s.dim,
			s.stride, n, s.size)
	}
	return nil
}

// shape is what a symbol says about a port.
type shape struct {
	dim, stride []uint64
	element     uint32
}

// shapeSymbols reads the symbols that give ports their shapes, as
// "image:t11=ar1;0;1;12=s192n:ar1;0;3;13=s64c:ar1;0;1;14=s64h:ar1;0;1;15=s2w:5": for each axis an array type whose
// upper bound is the extent, then the stride, at the end the element code. Symbols of other forms are ignored.
func shapeSymbols(f *hwx.File) map[string]shape {
	out := map[string]shape{}
	for _, y := range f.Symbols() {
		if y.Type != hwx.SymShape {
			continue
		}
		i := strings.LastIndex(y.Name, ":t")
		if i < 0 {
			continue
		}
		if s, ok := parseShape(y.Name[i+2:]); ok {
			out[y.Name[:i]] = s
		}
	}
	return out
}

func parseShape(text string) (s shape, ok bool) {
	_, text, _ = strings.Cut(text, "=")
	parts := strings.Split(text, ":")
	if len(parts) != 5 {
		return s, false
	}
	for i, axis := range []string{"n", "c", "h", "w"} {
		f := strings.Split(parts[i], ";")
		if len(f) != 4 || f[0] != "ar1" || f[1] != "0" {
			return s, false
		}
		_, stride, _ := strings.Cut(f[3], "=s")
		stride, ok = strings.CutSuffix(stride, axis)
		n, err := strconv.ParseUint(f[2], 10, 32)
		b, err2 := strconv.ParseUint(stride, 10, 63)
		if !ok || err != nil || err2 != nil {
			return s, false
		}
		s.dim, s.stride = append(s.dim, n), append(s.stride, b)
	}
	e, err := strconv.ParseUint(parts[4], 10, 32)
	s.element = uint32(e)
	return s, err == nil
}
