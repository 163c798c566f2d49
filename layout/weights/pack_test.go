package weights

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
)

func randomKernel(r *rand.Rand, out, in, kh, kw, groups int, bias bool) *Kernel {
	k := &Kernel{Out: out, In: in, KH: kh, KW: kw, Groups: groups, W: make([]byte, 2*out*(in/groups)*kh*kw)}
	for i := range k.W {
		k.W[i] = byte(r.Uint32())
	}
	if bias {
		k.Bias = make([]uint16, out)
		for i := range k.Bias {
			k.Bias[i] = uint16(r.Uint32())
		}
	}
	return k
}

// reader walks a packed constant the way the engine does: it knows the registers (outputs, cores, OCGSize, groups,
// sizes), not the packer.
type reader struct {
	t *testing.T
	b []byte
}

func (r *reader) half() uint16 {
	r.t.Helper()
	if len(r.b) < 2 {
		r.t.Fatal("the packed constant ends early")
	}
	v := binary.LittleEndian.Uint16(r.b)
	r.b = r.b[2:]
	return v
}

// rest checks that what remains is padding shorter than a granule.
func (r *reader) rest() {
	r.t.Helper()
	if len(r.b) >= 64 {
		r.t.Errorf("%d bytes of padding", len(r.b))
	}
	for _, b := range r.b {
		if b != 0 {
			r.t.Error("padding is not zero")
			return
		}
	}
}

// unpackDense is the inverse of Pack for one group, written only from the rule.
func unpackDense(t *testing.T, b []byte, sizes [16]int, out, red, cores, ocgSize int, bias, table bool) (w,
	bs []uint16) {
	t.Helper()
	w, bs = make([]uint16, out*red), make([]uint16, out)
	seen := make([]bool, out)
	for c := range cores {
		part := b[:sizes[c]]
		b = b[sizes[c]:]
		if len(part) == 0 {
			continue
		}
		if table {
			part = part[128:]
		}
		rd := &reader{t, part}
		start, rem := 0, out
		for rem > 0 {
			per, lanes := rem/cores, 0
			if per >= 1<<ocgSize {
				lanes = 1 << ocgSize
			} else if start == 0 && per > 0 && rem%cores == 0 {
				lanes = per
			} else {
				for lanes = 1; lanes*2 <= per; lanes *= 2 {
				}
			}
			n := min(cores, rem)
			if c < n {
				o := start + c*lanes
				for l := range lanes {
					if seen[o+l] {
						t.Fatalf("output %d belongs to two cores", o+l)
					}
					seen[o+l] = true
					if bias {
						bs[o+l] = rd.half()
					}
				}
				for row := range red {
					for l := range lanes {
						w[(o+l)*red+row] = rd.half()
					}
				}
			}
			start, rem = start+lanes*n, rem-lanes*n
		}
		rd.rest()
	}
	if i := slices.Index(seen, false); i >= 0 {
		t.Fatalf("output %d belongs to no core", i)
	}
	if len(b) != 0 {
		t.Errorf("%d bytes after the last part", len(b))
	}
	return w, bs
}

func TestDenseRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tab, err := Activate("tanh")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 150 {
		out, in := 1+r.IntN(300), 1+r.IntN(40)
		if i%10 == 0 {
			in = 1 + r.IntN(700)
		}
		k := randomKernel(r, out, in, 1+r.IntN(3), 1+r.IntN(3), 1, r.IntN(2) == 0)
		if r.IntN(3) == 0 {
			k.Table = &tab.Table
		}
		var p Plan
		switch r.IntN(3) {
		case 0:
			p, err = PlanDense(out, r.IntN(2) == 0)
		case 1:
			p, err = PlanMatmul(out)
		case 2:
			first := r.IntN(out)
			p, err = PlanSlice(Slice{first, 1 + r.IntN(out-first)})
		}
		if err != nil {
			t.Fatal(err)
		}
		sizes, err := p.PartSizes(k)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := p.Size(k)
		dst := bytes.Repeat([]byte{0xa5}, n)
		if err := p.Pack(dst, k, 1+r.IntN(3)); err != nil {
			t.Fatal(err)
		}
		w, bs := unpackDense(t, dst, sizes, p.Out, k.Red(), p.Cores, p.OCGSize, k.Bias != nil, k.Table != nil)
		if !bytes.Equal(halves(w), k.W[2*p.First*k.Red():2*(p.First+p.Out)*k.Red()]) {
			t.Fatalf("%+v: weights of %d x %d do not come back", p, k.Out, k.Red())
		}
		if k.Bias != nil && !slices.Equal(bs, k.Bias[p.First:p.First+p.Out]) {
			t.Fatalf("%+v: biases do not come back", p)
		}
	}
}

func TestGroupedAndDepthwiseRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		groups, perOut, perIn := 2+r.IntN(8), 1+r.IntN(50), 2+r.IntN(9)
		if r.IntN(2) == 0 {
			groups, perOut, perIn = 1+r.IntN(80), 1, 1
		}
		k := randomKernel(r, groups*perOut, groups*perIn, 1+r.IntN(3), 1+r.IntN(3), groups, r.IntN(2) == 0)
		p, err := planFor(k, false)
		if err != nil {
			t.Fatal(err)
		}
		sizes, err := p.PartSizes(k)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := p.Size(k)
		dst := bytes.Repeat([]byte{0xa5}, n)
		if err := p.Pack(dst, k, 2); err != nil {
			t.Fatal(err)
		}
		red := k.Red()
		if groups > 1 && perIn > 1 {
			for cg := range groups {
				// The planes of one conv group form a dense kernel.
				var b []byte
				var sz [16]int
				at := 0
				for c, s := range sizes {
					sz[c] = s / groups
					b = append(b, dst[at+cg*sz[c]:at+(cg+1)*sz[c]]...)
					at += s
				}
				w, bs := unpackDense(t, b, sz, perOut, red, p.Cores, p.OCGSize, k.Bias != nil, false)
				if !bytes.Equal(halves(w), k.W[2*cg*perOut*red:2*(cg+1)*perOut*red]) {
					t.Fatalf("conv group %d of %+v does not come back", cg, p)
				}
				if k.Bias != nil && !slices.Equal(bs, k.Bias[cg*perOut:(cg+1)*perOut]) {
					t.Fatalf("biases of conv group %d of %+v do not come back", cg, p)
				}
			}
			continue
		}
		rest := dst
		for c, s := range sizes {
			rd := &reader{t, rest[:s]}
			rest = rest[s:]
			for ch := c; ch < k.Out && s > 0; ch += p.Cores {
				if k.Bias != nil && rd.half() != k.Bias[ch] {
					t.Fatalf("bias of channel %d does not come back", ch)
				}
				for i := range red {
					if rd.half() != binary.LittleEndian.Uint16(k.W[2*(ch*red+i):]) {
						t.Fatalf("tap %d of channel %d does not come back", i, ch)
					}
				}
			}
			rd.rest()
		}
	}
}

// TestSkippingRoundTrip reads zero-skipping bodies back by their own lengths
// and masks.
func TestSkippingRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		out, in := 1+r.IntN(130), 1+r.IntN(6)
		k := randomKernel(r, out, in, 1+r.IntN(4), 1+r.IntN(4), 1, r.IntN(2) == 0)
		for i := 0; i < len(k.W); i += 2 {
			if r.IntN(3) == 0 {
				k.W[i], k.W[i+1] = 0, byte(r.IntN(2)<<7)
			}
		}
		small := r.IntN(2) == 0
		p, err := PlanDense(out, false)
		if err != nil {
			t.Fatal(err)
		}
		p.WideMasks = r.IntN(2) == 0
		b, sizes, err := p.PackSkipping(k, small)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]uint16, out*k.Red())
		for c, s := range sizes {
			part := &reader{t, b[:s]}
			b = b[s:]
			for _, g := range p.Groups {
				if c >= g.Live {
					continue
				}
				if k.Bias != nil {
					for l := range g.Lanes {
						if part.half() != k.Bias[g.Start+c*g.Lanes+l] {
							t.Fatal("bias does not come back")
						}
					}
				}
				n := int(part.b[0]) | int(part.b[1])<<8 | int(part.b[2])<<16
				body := &reader{t, part.b[3 : 3+n]}
				part.b = part.b[3+n:]
				slots := max(g.Lanes, 2)
				if small {
					slots = max(g.Lanes, 4)
				}
				cy, cx := (k.KH+1)/2, (k.KW+1)/2
				total := in * 4 * cy * cx * slots
				bits := 8 * p.maskBytes()
				for slot := 0; slot < total; slot += bits {
					mask := uint16(body.b[0])
					if p.WideMasks {
						mask |= uint16(body.b[1]) << 8
					}
					body.b = body.b[bits/8:]
					for bit := range bits {
						if mask>>bit&1 == 0 {
							continue
						}
						i := slot + bit
						l, cell, phase, ci := i%slots, i/slots%(cy*cx), i/slots/(cy*cx)%4, i/slots/(cy*cx)/4
						y, x := 2*(cell/cx)+phase/2, 2*(cell%cx)+phase%2
						got[(g.Start+c*g.Lanes+l)*k.Red()+(ci*k.KH+y)*k.KW+x] = body.half()
					}
				}
				if len(body.b) != 0 {
					t.Fatalf("%d bytes after the last slot", len(body.b))
				}
			}
			part.rest()
		}
		for i, v := range got {
			want := binary.LittleEndian.Uint16(k.W[2*i:])
			if want == 0x8000 {
				want = 0
			}
			if v != want {
				t.Fatalf("weight %d is %#04x, want %#04x", i, v, want)
			}
		}
	}
}

func TestWorkersDoNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	k := randomKernel(r, 777, 33, 3, 3, 1, true)
	p, err := PlanDense(k.Out, false)
	if err != nil {
		t.Fatal(err)
	}
	n, err := p.Size(k)
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for _, workers := range []int{1, 2, 3, 16, 0} {
		dst := bytes.Repeat([]byte{byte(workers + 1)}, n)
		if err := p.Pack(dst, k, workers); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = dst
		}
		if !bytes.Equal(dst, want) {
			t.Errorf("%d workers write other bytes than one", workers)
		}
	}
}

// TestIdentity packs the decoded identity layer: 64 ones in 8192 bytes, with sixteen lanes 512 bytes apart.
func TestIdentity(t *testing.T) {
	k := &Kernel{Out: 64, In: 64, KH: 1, KW: 1, Groups: 1, W: make([]byte, 64*64*2)}
	for i := range 64 {
		binary.LittleEndian.PutUint16(k.W[2*(64*i+i):], 0x3c00)
	}
	p, err := PlanMatmul(64)
	if err != nil {
		t.Fatal(err)
	}
	s := new(Section)
	ps, err := s.addKernel(k, 1, p)
	if err != nil {
		t.Fatal(err)
	}
	b := s.bytes()
	if len(b) != 8192 {
		t.Fatalf("section has %d bytes, want 8192", len(b))
	}
	for c := range 16 {
		if ps[0].Offset[c] != uint32(512*c) || ps[0].Size[c] != 512 || !ps[0].Live[c] {
			t.Errorf("lane %d is %d bytes at %#x, want 512 at %#x", c, ps[0].Size[c], ps[0].Offset[c], 512*c)
		}
		// Lane c contains outputs 4c..4c+3; the one of output o is in row o.
		for l := range 4 {
			o := 4*c + l
			at := 512*c + 8*o + 2*l
			if binary.LittleEndian.Uint16(b[at:]) != 0x3c00 {
				t.Errorf("output %d has no one at %#x", o, at)
			}
			b[at], b[at+1] = 0, 0
		}
	}
	if i := slices.IndexFunc(b, func(x byte) bool { return x != 0 }); i >= 0 {
		t.Errorf("byte %#x is not zero", i)
	}
}

func TestRefusals(t *testing.T) {
	good := Kernel{Out: 4, In: 2, KH: 1, KW: 1, Groups: 1, W: make([]byte, 16)}
	for _, tc := range []struct {
		field string
		edit  func(k *Kernel)
	}{
		{"Out", func(k *Kernel) { k.Out = 0 }},
		{"In", func(k *Kernel) { k.In = maxExtent + 1 }},
		{"KH", func(k *Kernel) { k.KH = -1 }},
		{"Groups", func(k *Kernel) { k.Groups = 3 }},
		{"W", func(k *Kernel) { k.W = k.W[1:] }},
		{"Bias", func(k *Kernel) { k.Bias = make([]uint16, 3) }},
		{"taps", func(k *Kernel) { k.Out, k.In, k.KH, k.KW = maxExtent, maxExtent, maxExtent, maxExtent }},
	} {
		k := good
		tc.edit(&k)
		p := Plan{Out: 4, Cores: 4, Groups: []OCG{{0, 1, 4}}, ConvGroups: 1}
		if err := p.Pack(make([]byte, 256), &k, 1); err == nil || !bytes.Contains([]byte(err.Error()),
			[]byte(tc.field)) {
			t.Errorf("%s: error is %v, want one that names it", tc.field, err)
		}
	}
	for _, p := range []Plan{
		{}, {Out: 4, Cores: 3}, {Out: 4, Cores: 4}, {Out: 5, Cores: 4, Groups: []OCG{{0, 1, 5}}},
		{Out: 4, Cores: 4, Groups: []OCG{{0, 2, 4}}}, {Form: Grouped, Out: 4, Cores: 4},
		{Form: Depthwise, Out: 4, Cores: 4}, {Form: 9, Out: 4, Cores: 4}, {First: 1, Out: 4, Cores: 4},
	} {
		if _, err := p.PartSizes(&good); err == nil {
			t.Errorf("%+v packs, want an error", p)
		}
	}
	ok, err := PlanDense(4, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := ok.Pack(make([]byte, 255), &good, 1); err == nil {
		t.Error("a short destination is taken")
	}
}

// BenchmarkPackDense compares packing with copying the same bytes.
func BenchmarkPackDense(b *testing.B) {
	for _, sh := range [][2]int{{2048, 2048}, {4096, 1024}, {1024, 4608}} {
		for _, workers := range []int{1, runtime.GOMAXPROCS(0)} {
			b.Run(fmt.Sprintf("%dx%d/workers=%d", sh[0], sh[1], workers), func(b *testing.B) {
				k := randomKernel(rand.New(rand.NewPCG(1, 1)), sh[0], sh[1], 1, 1, 1, false)
				p, err := PlanMatmul(k.Out)
				if err != nil {
					b.Fatal(err)
				}
				n, err := p.Size(k)
				if err != nil {
					b.Fatal(err)
				}
				dst := make([]byte, n)
				copy(dst, k.W)
				start := time.Now()
				const rounds = 8
				for range rounds {
					copy(dst, k.W)
				}
				perCopy := time.Since(start).Seconds() / rounds
				b.SetBytes(int64(n))
				b.ResetTimer()
				for range b.N {
					if err := p.Pack(dst, k, workers); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/perCopy, "copies")
			})
		}
	}
}

// planFor picks the uncut plan of a kernel by its groups.
func planFor(k *Kernel, small bool) (Plan, error) {
	switch {
	case k.Groups == 1:
		return PlanDense(k.Out, small)
	case k.Groups == k.In && k.Out == k.In:
		return PlanDepthwise(k.Out)
	}
	return PlanGrouped(k.Out, k.Groups)
}
