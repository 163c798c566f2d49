package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/engine/port"
)

// oneCore returns a kernel task from c channels of a row of w elements to n channels, whose only part is data.
func oneCore(c, n, w, k int, data []byte) (*td.Task, buffers) {
	t, mem := kernelTask(c, n, 1, w, k)
	t.Set(td.ActiveNE, 0).Set(td.PalettizedEn, 1).Set(td.CoeffSize, len(data))
	for i := 1; i < td.Lanes; i++ {
		t.Set(td.CoeffEn.At(i), 0)
	}
	mem[1] = data
	return t, mem
}

// codebook returns a codebook of n halves, padded as in a part, with the given first entries.
func codebook(n int, v ...float32) []byte {
	h := make([]uint16, n)
	for i, f := range v {
		h[i] = port.Narrow(f)
	}
	return halves(h...)
}

// Products with codebook indices, each computed by hand.
func TestPalettesAreExpanded(t *testing.T) {
	join := func(parts ...[]byte) []byte { return pad(slices.Concat(parts...)) }
	far := codebook(64, 0, 2, -0.5)
	far[2*63], far[2*63+1] = 0, 0x48 // entry 63 is 8
	for _, c := range []struct {
		name    string
		c, n, w int
		kw, px  int
		bits    int
		set     []td.Field // switched on
		part    []byte
		x       [][]float32 // a row a channel
		want    [][]float64
	}{
		// 4 bits, low nibble first: weights 2, -0.5, 2.
		{name: "four bits", c: 3, n: 1, w: 1, kw: 1, px: 0, bits: 4, part: join(codebook(16, 0, 2, -0.5),
			[]byte{0x21, 0x01}),
			x: [][]float32{{1}, {4}, {3}}, want: [][]float64{{6}}},
		// 6 bits cross bytes: indices 1, 63, 2 are 1 + 63<<6 + 2<<12 = 0x2fc1.
		{name: "six bits", c: 3, n: 1, w: 1, kw: 1, px: 0, bits: 6, part: join(far, []byte{0xc1, 0x2f, 0x00}),
			x: [][]float32{{1}, {0.5}, {4}}, want: [][]float64{{4}}},
		// 3 bits, two lanes a row: (1, 2) for channel 0, (2, 0) for channel 1:
		// 1 + 2<<3 + 2<<6 = 0x91. Biases 10 and 20 are before.
		{name: "three bits with biases", c: 2, n: 2, w: 1, kw: 1, px: 0, bits: 3, set: []td.Field{td.NEBias},
			part: join(codebook(8, 0, 1, -3), []byte{0x00, 0x49, 0x00, 0x4d, 0x91, 0x00}),
			x:    [][]float32{{1}, {2}}, want: [][]float64{{10 + 1 - 6}, {20 - 3}}},
		// A byte an index; the codebook of 256 takes 512 bytes.
		{name: "eight bits", c: 2, n: 1, w: 1, kw: 1, px: 0, bits: 8, part: join(codebook(256, 0, 0, 4, 5),
			[]byte{3, 2}),
			x: [][]float32{{1}, {2}}, want: [][]float64{{13}}},
		// Channelwise: three taps per channel, each channel starting on a whole byte. Channel 0 has bits 1, 0, 1,
		// channel 1 has 0, 1, 1; entry 0 is 0.5, entry 1 is 2.
		{name: "one bit, channelwise", c: 2, n: 2, w: 3, kw: 3, px: 1, bits: 1, set: []td.Field{td.UnicastEn},
			part: join(codebook(2, 0.5, 2), []byte{0b101, 0b110}),
			x:    [][]float32{{1, 2, 3}, {4, 5, 6}}, want: [][]float64{{0.5 + 4, 2 + 1 + 6, 4 + 1.5},
				{8 + 10, 2 + 10 + 12, 2.5 + 12}}},
		// Only masks: two taps in cells of two lane slots (bits 0 and 2), one body per channel. Channel 0 takes the
		// previous column, channel 1 both columns.
		{name: "masks", c: 2, n: 2, w: 3, kw: 2, px: 1, bits: 1, set: []td.Field{td.UnicastEn, td.SparseFmt,
			td.SparseBinary}, part: join(codebook(2, 3), []byte{1, 0, 0, 0x01, 1, 0, 0, 0x05}),
			x: [][]float32{{1, 2, 3}, {4, 5, 6}}, want: [][]float64{{0, 3, 6}, {12, 27, 33}}},
		// Four slots a cell in small-source mode: the second tap is bit 4.
		{name: "masks of a small source", c: 1, n: 1, w: 3, kw: 2, px: 1, bits: 1, set: []td.Field{td.UnicastEn,
			td.SparseFmt, td.SparseBinary, td.SmallSource}, part: join(codebook(2, 3), []byte{1, 0, 0, 0x10}),
			x: [][]float32{{1, 2, 3}}, want: [][]float64{{3, 6, 9}}},
	} {
		task, mem := oneCore(c.c, c.n, c.w, c.kw, c.part)
		task.Set(td.Px, c.px).Set(td.PalettizeBits, c.bits)
		for _, f := range c.set {
			task.Set(f, 1)
		}
		for i, row := range c.x {
			for j, v := range row {
				h := port.Narrow(v)
				mem[5][64*i+2*j], mem[5][64*i+2*j+1] = byte(h), byte(h>>8)
			}
		}
		step(t, New(Options{L2Bytes: l2Bytes, Numerics: IEEE}), task, mem)
		for i, row := range c.want {
			var got []float64
			for j := range row {
				got = append(got, float64(port.Widen(uint16(mem[4][64*i+2*j])|uint16(mem[4][64*i+2*j+1])<<8)))
			}
			if !slices.Equal(got, row) {
				t.Errorf("%s: channel %d is %v, want %v", c.name, i, got, row)
			}
		}
	}
}

// Products with bytes and scales, and with a sparse kernel of stride 1, computed by hand.
func TestBytesAndMasksAreExpanded(t *testing.T) {
	half := func(v float32) []byte {
		h := port.Narrow(v)
		return []byte{byte(h), byte(h >> 8)}
	}
	join := func(parts ...[]byte) []byte { return pad(slices.Concat(parts...)) }
	scaled := []td.Field{td.PostScaleMode}
	for _, c := range []struct {
		name    string
		c, n, w int
		kw, px  int
		format  td.KernelFormat
		set     []td.Field
		part    []byte
		x       [][]float32
		want    [][]float64
	}{
		// Weights 3 * 0.5, -2 * 0.5, 127 * 0.5.
		{name: "bytes", c: 3, n: 1, w: 1, kw: 1, format: td.KernelInt8, set: scaled,
			part: join(half(0.5), []byte{3, 0xfe, 127}),
			x:    [][]float32{{1}, {4}, {2}}, want: [][]float64{{1.5 - 4 + 127}}},
		// Two lanes: scales 2 and 0.25, biases 10 and 20, rows (1, 4) and (-128, 8).
		{name: "bytes with biases", c: 2, n: 2, w: 1, kw: 1, format: td.KernelInt8, set: append(scaled, td.NEBias),
			part: join(half(2), half(0.25), half(10), half(20), []byte{1, 4, 0x80, 8}),
			x:    [][]float32{{3}, {0.5}}, want: [][]float64{{10 + 6 - 128}, {20 + 3 + 1}}},
		// 3 * 0.1 is rounded to fp16 before it is multiplied: 0.09998 is 0x2e66, 3 times that 0x34cc (0.2998).
		{name: "a product that is rounded", c: 1, n: 1, w: 1, kw: 1, format: td.KernelInt8, set: scaled,
			part: join(half(0.1), []byte{3}),
			x:    [][]float32{{1024}}, want: [][]float64{{float64(port.Widen(0x34cc)) * 1024}}},
		// Channelwise: a scale, then taps, channel after channel.
		{name: "bytes, channelwise", c: 2, n: 2, w: 2, kw: 2, px: 1, format: td.KernelInt8,
			set:  append(scaled, td.UnicastEn),
			part: join(half(1), []byte{1, 2}, half(4), []byte{0xff, 1}),
			x:    [][]float32{{1, 2}, {3, 5}}, want: [][]float64{{2, 5}, {12, -12 + 20}}},
		// A sparse kernel of stride 1: cells are the taps, with two lane slots. Taps 0 and 1 of channel 0, then of
		// channel 1, are slots 0, 2, 4 and 6; only tap 1 of channel 0 and tap 0 of channel 1 are there.
		{name: "sparse", c: 2, n: 1, w: 2, kw: 2, px: 1, format: td.KernelFP16, set: []td.Field{td.SparseFmt},
			part: join([]byte{5, 0, 0, 0b00010100}, half(3), half(-1)),
			x:    [][]float32{{1, 2}, {5, 7}}, want: [][]float64{{3, 6 - 5}}},
	} {
		task, mem := oneCore(c.c, c.n, c.w, c.kw, c.part)
		task.Set(td.Px, c.px).Set(td.PalettizedEn, 0).Set(td.KernelFmt, int(c.format))
		for _, f := range c.set {
			task.Set(f, 1)
		}
		for i, row := range c.x {
			for j, v := range row {
				copy(mem[5][64*i+2*j:], half(v))
			}
		}
		step(t, New(Options{L2Bytes: l2Bytes, Numerics: IEEE}), task, mem)
		for i, row := range c.want {
			var got []float64
			for j := range row {
				got = append(got, float64(port.Widen(uint16(mem[4][64*i+2*j])|uint16(mem[4][64*i+2*j+1])<<8)))
			}
			if !slices.Equal(got, row) {
				t.Errorf("%s: channel %d is %v, want %v", c.name, i, got, row)
			}
		}
	}
}

// Invalid palette fields, and parts that are too short, are faults.
func TestWrongPalettesAreFaults(t *testing.T) {
	for _, c := range []struct {
		bits int
		part []byte
		set  []td.Field
		want string
	}{
		{bits: 5, part: make([]byte, 64),
			want: "NE.PalettizedBits = 5: an index of a codebook has one of [1 2 3 4 6 8] bits"},
		{bits: 8, part: make([]byte, 64),
			want: "kernel lane 0 at 0x0: coefficients need 512 more bytes, 64 of the part's 64 are left"},
		{bits: 4, part: make([]byte, 64), want: "coefficients need 4 more bytes, 0 of the part's 64 are left"},
		{bits: 4, part: make([]byte, 128), set: []td.Field{td.SparseFmt},
			want: "NE.SparseBinary = 0: the order of indices in a zero-skipping body is not known"},
		{bits: 1, part: make([]byte, 128), set: []td.Field{td.SparseBinary},
			want: "NE.SparseBinary = 1: masks belong to a zero-skipping body"},
		{bits: 4, part: make([]byte, 128), set: []td.Field{td.SparseFmt, td.SparseBinary},
			want: "NE.PalettizedBits = 4: masks alone tell one value from zero"},
		{bits: 1, part: append(make([]byte, 64), pad([]byte{1, 0, 0, 2})...), set: []td.Field{td.SparseFmt,
			td.SparseBinary}, want: "zero-skipping body sets slot 1, where there is no tap"},
		{bits: 1, part: append(make([]byte, 64), pad([]byte{9, 0, 0, 1})...), set: []td.Field{td.SparseFmt,
			td.SparseBinary}, want: "zero-skipping body of 9 bytes uses 2"},
	} {
		task, mem := oneCore(8, 1, 1, 1, c.part)
		task.Set(td.PalettizeBits, c.bits)
		for _, f := range c.set {
			task.Set(f, 1)
		}
		err := New(Options{L2Bytes: l2Bytes}).Step(context.Background(), td.Placed{Task: task}, mem)
		var f *Fault
		if !errors.As(err, &f) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %q, want %q", err, c.want)
		}
	}
}

// The recorded padding runs from its recorded words: a task whose kernel is masks
// of the one value 1 moves the image a column to the right, then one multiplies.
// The constant section is shown to be the recorded one by its hash.
func TestRecordedPadding(t *testing.T) {
	const name = "encoder_conv_pad_c8_n8_k1x1_s1_g8_bias0_p0010_f4"
	r, tasks := readRecorded(t, name)
	section := func(w []uint16) []byte {
		var b []byte
		for range w {
			b = append(append(b, codebook(2, 1)...), pad([]byte{1, 0, 0, 1})...)
		}
		for _, v := range w {
			b = append(b, halves(v)...)
		}
		return b
	}
	if sum := sha256.Sum256(section([]uint16{1, 2, 3, 4, 5, 6, 7, 8})); hex.EncodeToString(
		sum[:]) != r.Constant.SHA256 {
		t.Error("packed section is not the recorded one")
	}
	w := random(1, 8, 1)
	in, out := newSurface(1, 8, 375, 749), newSurface(1, 8, 375, 750)
	in.set(random(2, 8*375*749, 1))
	mem := buffers{1: section(w), 3: make([]byte, 5<<20), 4: in.buf, 5: out.buf}
	if err := New(Options{L2Bytes: l2Bytes, Numerics: IEEE}).Run(context.Background(), tasks, mem); err != nil {
		t.Fatal(err)
	}
	x, f := in.values(), values(w)
	var want []float64
	for c := range 8 {
		for y := range 375 {
			want = append(want, 0)
			for _, v := range x[(c*375+y)*749:][:749] {
				want = append(want, v*f[c])
			}
		}
	}
	near(t, name, out.values(), want, 0.6, 0)
}
