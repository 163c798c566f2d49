package compile

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/hazard"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/target"
)

// firstLaterPort is the buffer-access register of the first surface of a recorded program of h15 and later. The others
// follow, in the order of the surfaces' names, and from h16 on kernels and lookup tables have the next one.
const firstLaterPort = 6

// laterProgram is a recorded program of h15 to h18 in a container.
type laterProgram struct {
	on        *target.Table
	codec     *td.Codec
	tasks     [][]uint32
	constants []byte
	reference *ir.Func // placed as on the target
	surfaces  []hwx.Surface
}

// laterProgramOf reads a recorded case. Its constants are those that zinc packs for h14: the records have their sums at
// most.
func laterProgramOf(t *testing.T, c *recordedCase, on *target.Table) *laterProgram {
	t.Helper()
	text := writtenCase(t, c)
	open := func() *frontend.Model {
		m, err := frontend.Open(text, frontend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	codec, err := td.CodecOf(on.Version)
	if err != nil {
		t.Fatal(err)
	}
	p := &laterProgram{on: on, codec: codec}
	r, err := All(t.Context(), open().Program, Options{Target: target.H14})
	if err != nil {
		t.Fatal(err)
	}
	p.constants = r.HWX.ConstantBytes()
	var plan *Report
	var placed []*Function
	if err := Compile(t.Context(), open().Program, Options{Target: on},
		Sink{Plan: To(&plan), Placed: To(&placed)}); err != nil {
		t.Fatal(err)
	}
	if plan.CPUOps != 0 {
		t.Fatalf("%d operations on the CPU", plan.CPUOps)
	}
	p.reference = placed[0].Reference
	for i := range c.Tasks {
		p.tasks = append(p.tasks, recordedWords(t, c, i))
	}
	var names [3][]string
	for _, v := range p.reference.Body.Params {
		names[hwx.BindInput] = append(names[hwx.BindInput], v.Name)
	}
	for _, v := range p.reference.Body.Outputs {
		names[hwx.BindOutput] = append(names[hwx.BindOutput], v.Name)
	}
	for _, x := range c.Tensors {
		l := &names[x.Binding]
		p.surfaces = append(p.surfaces, hwx.Surface{
			Name: (*l)[0], Procedure: "main", Binding: x.Binding, Element: x.Element, Dims: x.Shape,
			Strides: x.Strides, BatchBytes: x.Strides[0], Size: x.Strides[0] * uint64(x.Shape[0]),
		})
		*l = (*l)[1:]
	}
	return p
}

// container returns the container of the program with the given tasks.
func (p *laterProgram) container(tasks [][]uint32) ([]byte, error) {
	img := &hwx.Image{CPUSubtype: p.on.Subtype, Text: make([]byte, 16), Constants: [][]byte{p.constants},
		Surfaces: p.surfaces, Banner: []string{"zinc"}}
	for _, ws := range tasks {
		img.Text = append(img.Text, make([]byte, -len(img.Text)&15)...)
		for _, w := range ws {
			img.Text = binary.LittleEndian.AppendUint32(img.Text, w)
		}
	}
	bars := map[int]hwx.BarRef{td.BarText: {Kind: hwx.BarText}, td.BarConstants: {Kind: hwx.BarConstants}}
	var names []string
	for _, s := range p.surfaces {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	for i, n := range names {
		bars[firstLaterPort+i] = hwx.BarRef{Kind: hwx.BarSurface, Surface: n}
	}
	bars[firstLaterPort+len(names)] = hwx.BarRef{Kind: hwx.BarConstants}
	img.Procedures = []hwx.Entry{{Name: "main", Offset: 16, FirstWords: uint32(len(tasks[0])),
		Tasks: uint32(len(tasks)), Bars: bars}}
	f, _, err := hwx.Build(img)
	if err != nil {
		return nil, err
	}
	return hwx.Encode(f)
}

// inputs returns inputs in the shapes of the program, by name.
func (p *laterProgram) inputs(t *testing.T, seed uint64) map[string]interp.Tensor {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	in := map[string]interp.Tensor{}
	for _, v := range p.reference.Body.Params {
		var data []byte
		for range v.Type.Elems() {
			x := float16.Fromfloat32(float32(r.NormFloat64() * 4))
			data = binary.LittleEndian.AppendUint16(data, x.Bits())
		}
		x, err := interp.NewTensor(v.Type, data)
		if err != nil {
			t.Fatal(err)
		}
		in[v.Name] = x
	}
	return in
}

// run runs a container alone and returns the bytes of its outputs. Of the simulated machine it takes the engine alone,
// or the whole stack.
func (p *laterProgram) run(ctx context.Context, container []byte, in map[string]interp.Tensor, whole bool) (
	map[string][]byte, error) {
	m, err := sim.Open(pair.Pair{Container: container})
	if err != nil {
		return nil, err
	}
	shaped := map[string]interp.Tensor{}
	for _, x := range m.Inputs() {
		if shaped[x.Name], err = interp.NewTensor(x.Type, in[x.Name].Data); err != nil {
			return nil, err
		}
	}
	var out map[string]interp.Tensor
	if !whole {
		out, err = m.Run(ctx, shaped, sim.Options{Numerics: numerics.ANE})
	} else {
		out, err = onStack(ctx, m, shaped)
	}
	bytes := map[string][]byte{}
	for name, x := range out {
		bytes[name] = x.Data
	}
	return bytes, err
}

func onStack(ctx context.Context, m *sim.Machine, in map[string]interp.Tensor) (map[string]interp.Tensor, error) {
	s, err := stack.New(stack.Options{Target: m.Target()})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	process, err := s.Connect(stack.Application(1), 0)
	if err != nil {
		return nil, err
	}
	model, err := process.Load(ctx, m)
	if err != nil {
		return nil, err
	}
	return model.Run(ctx, in)
}

var laterTargets = []*target.Table{target.H15, target.H16, target.H17, target.H18}

// eachLater calls f for every recorded program of h15 to h18.
func eachLater(t *testing.T, f func(t *testing.T, c *recordedCase, p *laterProgram)) {
	for _, on := range laterTargets {
		for _, c := range recordedCases(t, on.Name) {
			t.Run(on.Name+"/"+c.Case, func(t *testing.T) { f(t, c, laterProgramOf(t, c, on)) })
		}
	}
}

// TestRecordedProgramsRun runs every recorded program of h15 to h18 on the simulated engine and on the whole stack,
// from the words that were recorded. The result is what the interpreter computes from the program's text with the
// target's arithmetic, bit for bit but for what a lookup table is away from its function, and the tasks have no hazard.
func TestRecordedProgramsRun(t *testing.T) {
	eachLater(t, func(t *testing.T, c *recordedCase, p *laterProgram) {
		if sum := sha256.Sum256(p.constants); c.Constant.Size == len(p.constants) &&
			hex.EncodeToString(sum[:]) != c.Constant.SHA256 {
			t.Errorf("constants are not the recorded ones")
		}
		b, err := p.container(p.tasks)
		if err != nil {
			t.Fatal(err)
		}
		f, err := hwx.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		r, err := hazard.Check(f)
		if err != nil || r.Tasks != len(p.tasks) || len(r.Hazards) > 0 {
			t.Errorf("hazards %v (%v)", r, err)
		}
		in := p.inputs(t, 1)
		want, err := interp.Run(t.Context(), p.reference, in,
			interp.Options{Numerics: numerics.ANE.On(p.on.Arithmetic)})
		if err != nil {
			t.Fatal(err)
		}
		slack := 0.0
		if strings.HasPrefix(c.Case, "unary_sigmoid") {
			slack = sigmoidSlack
		}
		for _, whole := range []bool{false, true} {
			got, err := p.run(t.Context(), b, in, whole)
			if err != nil {
				t.Fatal(err)
			}
			for name, x := range want {
				if i := differs(got[name], x.Data, slack); i >= 0 {
					t.Errorf("whole stack %t: %s differs at element %d", whole, name, i)
				}
			}
		}
	})
}

// sigmoidSlack is what sigmoid by its table is away from sigmoid at most (measured on the M1).
const sigmoidSlack = 0.0034

// differs returns the index of the first fp16 number that differs by more than slack, -1 for none.
func differs(a, b []byte, slack float64) int {
	if len(a) != len(b) {
		return 0
	}
	for i := 0; i < len(a); i += 2 {
		x, y := binary.LittleEndian.Uint16(a[i:]), binary.LittleEndian.Uint16(b[i:])
		if x != y && !(math.Abs(float64(float16.Frombits(x).Float32()-float16.Frombits(y).Float32())) <= slack) {
			return i / 2
		}
	}
	return -1
}

// laterFields are fields whose words decide what a task computes, in every task that has another value than zero there.
// Extents and strides along axes of one element decide nothing.
var laterFields = []struct {
	field td.Field
	when  func(t *td.Task) bool
}{
	{field: td.PlanarType}, {field: td.PEOp}, {field: td.PETwo},
	{field: td.PEBias32}, {field: td.PENeg2}, {field: td.NEOp}, {field: td.Bcast2W}, {field: td.Swap2},
	{field: td.SrcPlane}, {field: td.Src2Plane}, {field: td.DstPlane},
	{field: td.CoeffBase + 1}, {field: td.CoeffSize}, {field: td.CoeffEn}, {field: td.KernelOn}, {field: td.SwapNE},
	{field: td.TableBase}, {field: td.KBase0}, {field: td.RBase0}, {field: td.RBase1}, {field: td.WBase},
	{field: td.SrcMemFmt}, {field: td.DstMemFmt}, {field: td.Nonlinear}, {field: td.PostScale},
	{field: td.Cin, when: more(td.Cin)}, {field: td.Cout, when: more(td.Cout)}, {field: td.Hin, when: more(td.Hin)},
	{field: td.Win, when: more(td.Win)}, {field: td.Hout, when: more(td.Hout)}, {field: td.Wout, when: more(td.Wout)},
	{field: td.SrcRow, when: more(td.Hin)}, {field: td.DstRow, when: more(td.Hout)},
	{field: td.Bcast2H, when: more(td.Src2Row)}, {field: td.Bcast2C, when: more(td.Src2Plane)},
}

// more reports whether a field is more than one.
func more(f td.Field) func(*td.Task) bool { return func(t *td.Task) bool { return t.Get(f) > 1 } }

// TestWordsOfRecordedProgramsDecide changes a word at a time of every recorded program of h15 to h18: the result is
// another one, or an error. So the words are read from where the records have them.
func TestWordsOfRecordedProgramsDecide(t *testing.T) {
	changed := map[string]map[td.Field]int{}
	eachLater(t, func(t *testing.T, c *recordedCase, p *laterProgram) {
		if !strings.HasPrefix(c.Case, "unary_") { // all constants differ, but for lookup tables
			for i := range len(p.constants) / 2 {
				binary.LittleEndian.PutUint16(p.constants[2*i:], 0x3000+uint16(i%1999))
			}
		}
		good, err := p.container(p.tasks)
		if err != nil {
			t.Fatal(err)
		}
		in := p.inputs(t, 2)
		want, err := p.run(t.Context(), good, in, false)
		if err != nil {
			t.Fatal(err)
		}
		if changed[p.on.Name] == nil {
			changed[p.on.Name] = map[td.Field]int{}
		}
		for k, ws := range p.tasks {
			task, err := p.codec.DecodeWords(ws)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range laterFields {
				w, ok := p.codec.WordIndex(task, x.field)
				if !ok || !task.On(x.field) || x.when != nil && !x.when(task) {
					continue
				}
				at := x.field.Row().Place(p.codec)
				words := slices.Clone(ws)
				words[w] ^= 1 << (int(at.Bit) + bits.Len32(task.Get(x.field)/x.field.Row().Unit) - 1) // its first digit
				tasks := slices.Clone(p.tasks)
				tasks[k] = words
				b, err := p.container(tasks)
				if err != nil {
					t.Fatal(err)
				}
				got, err := p.run(t.Context(), b, in, false)
				if err == nil && maps.EqualFunc(got, want, func(a, b []byte) bool { return differs(a, b, 0) < 0 }) {
					t.Errorf("task %d, %s: %#x instead of %#x in word %d gives the same result", k, x.field, words[w],
						ws[w], w)
				}
				changed[p.on.Name][x.field]++
			}
		}
	})
	for _, on := range laterTargets {
		if n := len(changed[on.Name]); n < 25 {
			t.Errorf("%s: %d fields were changed", on.Name, n)
		}
	}
}
