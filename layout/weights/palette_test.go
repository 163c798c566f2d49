package weights

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// sections returns the bytes of each run of a role in packed data, in order.
func sections(t *testing.T, data []byte, layout []Repeat, role Role) (out [][]byte) {
	t.Helper()
	for _, rep := range layout {
		for range rep.Times {
			for _, r := range rep.Runs {
				if int(r.Size) > len(data) {
					t.Fatal("the layout is longer than the data")
				}
				if r.Role == role {
					out = append(out, data[:r.Size])
				}
				data = data[r.Size:]
			}
		}
	}
	if len(data) > 0 {
		t.Fatalf("the layout leaves %d bytes", len(data))
	}
	return out
}

// TestIndicesArePlanesOfNumbers packs kernels with a palette, and compares the planes that their indices stand for with
// the planes of the kernel without it.
func TestIndicesArePlanesOfNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, bits := range []int{1, 2, 3, 4, 6, 8} {
		book := make(Palette, 1<<bits)
		for i := range book {
			book[i] = uint16(r.Uint32())
		}
		for name, c := range map[string]struct {
			k    *Kernel
			plan func(k *Kernel) (Plan, error)
		}{
			"dense": {randomKernel(r, 71, 13, 3, 1, 1, true),
				func(k *Kernel) (Plan, error) { return PlanDense(k.Out, false) }},
			"slice": {randomKernel(r, 90, 5, 1, 1, 1, false),
				func(*Kernel) (Plan, error) { return PlanSlice(Slice{32, 58}) }},
			"grouped": {randomKernel(r, 60, 12, 3, 3, 3, true),
				func(k *Kernel) (Plan, error) { return PlanGrouped(k.Out, k.Groups) }},
			"channelwise": {randomKernel(r, 37, 37, 3, 3, 37, true),
				func(k *Kernel) (Plan, error) { return PlanDepthwise(k.Out) }},
			"transposed": {randomKernel(r, 40, 9, 1, 1, 1, false),
				func(k *Kernel) (Plan, error) { k.Transposed = true; return PlanMatmul(k.Out) }},
		} {
			t.Run(fmt.Sprintf("%s, %d bits", name, bits), func(t *testing.T) {
				k := c.k
				k.Table = &Table{1, 2, 3}
				for i := 0; i < len(k.W); i += 2 {
					binary.LittleEndian.PutUint16(k.W[i:], book[r.IntN(len(book))])
				}
				p, err := c.plan(k)
				if err != nil {
					t.Fatal(err)
				}
				pack := func(k *Kernel) ([]byte, []Repeat) {
					n, err := p.Size(k)
					if err != nil {
						t.Fatal(err)
					}
					data := bytes.Repeat([]byte{0xaa}, n)
					if err := p.Pack(data, k, 2); err != nil {
						t.Fatal(err)
					}
					return data, p.Layout(k)
				}
				dense, dl := pack(k)
				small := *k
				small.Book = book
				data, l := pack(&small)
				for _, role := range []Role{Bias, Lookup} {
					if !bytes.Equal(bytes.Join(sections(t, data, l, role), nil),
						bytes.Join(sections(t, dense, dl, role), nil)) {
						t.Errorf("%s differs", role)
					}
				}
				for _, b := range sections(t, data, l, Codebook) {
					for i, v := range book {
						if binary.LittleEndian.Uint16(b[2*i:]) != v {
							t.Fatalf("entry %d of a codebook is not %#x", i, v)
						}
					}
				}
				planes, numbers := sections(t, data, l, Indices), sections(t, dense, dl, Values)
				if len(planes) != len(numbers) {
					t.Fatalf("%d planes of indices, %d of numbers", len(planes), len(numbers))
				}
				for i, want := range numbers {
					if got := expanded(planes[i], book, bits, len(want)/2); !bytes.Equal(got, want) {
						t.Errorf("plane %d: %x, want %x", i, got, want)
					}
				}
				for _, pad := range sections(t, data, l, Padding) {
					if bytes.ContainsFunc(pad, func(r rune) bool { return r != 0 }) {
						t.Error("padding is not zero")
					}
				}
			})
		}
	}
}

// expanded returns the n numbers that indices stand for, low bits first.
func expanded(b []byte, book Palette, bits, n int) (out []byte) {
	for i := range n {
		k := 0
		for j := range bits {
			at := i*bits + j
			k |= int(b[at/8]>>(at%8)&1) << j
		}
		out = binary.LittleEndian.AppendUint16(out, book[k])
	}
	return out
}

// TestStreamedKernelsAreCutAtTheLimit has kernels that one task may read, and one that takes several.
func TestStreamedKernelsAreCutAtTheLimit(t *testing.T) {
	k := &Kernel{Out: 4096, In: 8192, KH: 1, KW: 1, Groups: 1, Book: make(Palette, 16)}
	if ss, err := k.Cut(1<<20, 16<<20+MaxCores*Granule); err != nil || len(ss) != 1 {
		t.Errorf("16 MiB and codebooks: %v, %v", ss, err)
	}
	ss, err := k.Cut(1, 6<<20)
	next := 0
	for _, s := range ss {
		part := k.PlaneBytes((s.Count+MaxCores-1)/MaxCores) + Granule
		if s.First != next || part > 6<<20/MaxCores {
			t.Errorf("slice %v of %v has %d bytes a core", s, ss, part)
		}
		next += s.Count
	}
	if err != nil || next != k.Out || len(ss) < 3 {
		t.Errorf("6 MiB: %v, %v", ss, err)
	}
	if _, err := k.Cut(1, MaxCores*4000); err == nil {
		t.Error("one output of 4096 bytes fits 4000")
	}
	k.Book = make(Palette, 12)
	if k.Check() == nil {
		t.Error("a codebook of 12 entries")
	}
}

// TestBytesArePlanesOfNumbers packs kernels as bytes with scales, and compares the planes that they stand for with the
// planes of the kernel without scales.
func TestBytesArePlanesOfNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, c := range map[string]struct {
		k    *Kernel
		plan func(k *Kernel) (Plan, error)
	}{
		"dense": {randomKernel(r, 71, 13, 3, 1, 1, true),
			func(k *Kernel) (Plan, error) { return PlanDense(k.Out, false) }},
		"slice": {randomKernel(r, 90, 5, 1, 1, 1, false),
			func(*Kernel) (Plan, error) { return PlanSlice(Slice{32, 58}) }},
		"grouped": {randomKernel(r, 60, 12, 3, 3, 3, true),
			func(k *Kernel) (Plan, error) { return PlanGrouped(k.Out, k.Groups) }},
		"channelwise": {randomKernel(r, 37, 37, 3, 3, 37, true),
			func(k *Kernel) (Plan, error) { return PlanDepthwise(k.Out) }},
		"transposed": {randomKernel(r, 40, 9, 1, 1, 1, false),
			func(k *Kernel) (Plan, error) { k.Transposed = true; return PlanMatmul(k.Out) }},
	} {
		t.Run(name, func(t *testing.T) {
			k := c.k
			p, err := c.plan(k)
			if err != nil {
				t.Fatal(err)
			}
			small := *k
			small.Scales = make([]uint16, k.Out)
			for o := range small.Scales {
				small.Scales[o] = ToFP16(math.Ldexp(1+r.Float64(), -r.IntN(30)))
			}
			red := k.Red()
			for i := range k.Out * red {
				o := i / red
				if k.Transposed {
					o = i % k.Out
				}
				v := float64(int8(r.Uint32())) * FromFP16(small.Scales[o])
				binary.LittleEndian.PutUint16(k.W[2*i:], ToFP16(v))
			}
			pack := func(k *Kernel) ([]byte, []Repeat) {
				n, err := p.Size(k)
				if err != nil {
					t.Fatal(err)
				}
				data := bytes.Repeat([]byte{0xaa}, n)
				if err := p.Pack(data, k, 2); err != nil {
					t.Fatal(err)
				}
				return data, p.Layout(k)
			}
			dense, dl := pack(k)
			data, l := pack(&small)
			got, want := sections(t, data, l, Bias), sections(t, dense, dl, Bias)
			if !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) {
				t.Error("biases differ")
			}
			scales, planes, numbers := sections(t, data, l, Scale), sections(t, data, l, Values),
				sections(t, dense, dl, Values)
			if len(planes) != len(numbers) || len(scales) != len(planes) {
				t.Fatalf("%d planes of bytes, %d of scales, %d of numbers", len(planes), len(scales), len(numbers))
			}
			for i, want := range numbers {
				lanes := len(scales[i]) / 2
				var got []byte
				for at, b := range planes[i] {
					scale := FromFP16(binary.LittleEndian.Uint16(scales[i][2*(at%lanes):]))
					got = binary.LittleEndian.AppendUint16(got, ToFP16(float64(int8(b))*scale))
				}
				if !bytes.Equal(got, want) {
					t.Errorf("plane %d: %x, want %x", i, got, want)
				}
			}
		})
	}
}

// TestSparseKernelsHaveBodies packs kernels without their zeros, and unpacks the bodies.
func TestSparseKernelsHaveBodies(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for name, k := range map[string]*Kernel{
		"1x1": randomKernel(r, 71, 13, 1, 1, 1, true), "3x3": randomKernel(r, 20, 7, 3, 3, 1, false),
		"transposed": randomKernel(r, 40, 9, 1, 1, 1, false),
	} {
		for i := 0; i < len(k.W); i += 2 {
			if r.IntN(3) > 0 {
				k.W[i], k.W[i+1] = 0, 0
			}
		}
		k.Sparse, k.Transposed = true, name == "transposed"
		for _, small := range []bool{false, true} {
			for _, wide := range []bool{false, true} {
				p, err := PlanDense(k.Out, false)
				if err != nil {
					t.Fatal(err)
				}
				p.WideMasks = wide
				data, sizes, err := p.PackSkipping(k, small)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := unskipped(t, &p, k, data, sizes, small, wide), plainRows(k); !bytes.Equal(got, want) {
					t.Errorf("%s, small %t, wide %t: the bodies have other values", name, small, wide)
				}
				for c, n := range sizes {
					lanes := 0
					for _, g := range p.Groups {
						if c < g.Live {
							lanes += g.Lanes
						}
					}
					if most := align(k.PlaneBytes(lanes)); n > most {
						t.Errorf("%s: part %d has %d bytes, at most %d were announced", name, c, n, most)
					}
				}
			}
		}
	}
}

// plainRows returns the values of a kernel, output by output.
func plainRows(k *Kernel) []byte {
	if !k.Transposed {
		return k.W
	}
	var out []byte
	for o := range k.Out {
		for i := range k.In {
			out = append(out, k.W[2*(i*k.Out+o):][:2]...)
		}
	}
	return out
}

// unskipped reads the bodies of a dense plan.
func unskipped(t *testing.T, p *Plan, k *Kernel, data []byte, sizes [MaxCores]int, small, wide bool) []byte {
	out := make([]byte, 2*k.Out*k.Red())
	least, word := 2, 1
	if small {
		least = 4
	}
	if wide {
		word = 2
	}
	for c, size := range sizes {
		part := data[:size]
		data = data[size:]
		for _, g := range p.Groups {
			if c >= g.Live {
				continue
			}
			first := g.Start + c*g.Lanes
			if k.Bias != nil {
				for l := range g.Lanes {
					if v := binary.LittleEndian.Uint16(part[2*l:]); v != k.Bias[first+l] {
						t.Fatalf("bias %#x, want %#x", v, k.Bias[first+l])
					}
				}
				part = part[2*g.Lanes:]
			}
			n := int(part[0]) | int(part[1])<<8 | int(part[2])<<16
			body := part[3 : 3+n]
			part = part[3+n:]
			slots := max(g.Lanes, least)
			var mask []byte
			for slot := range k.Red() * slots {
				bit := slot % (8 * word)
				if bit == 0 {
					mask, body = body[:word], body[word:]
				}
				if mask[bit/8]>>(bit%8)&1 == 0 {
					continue
				}
				at := 2 * ((first+slot%slots)*k.Red() + slot/slots)
				copy(out[at:at+2], body)
				body = body[2:]
			}
			if len(body) > 0 {
				t.Fatalf("%d bytes of a body are left", len(body))
			}
		}
	}
	return out
}
