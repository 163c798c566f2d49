package compile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// layers is a chain of equal convolutions with relu, as published programs of the M6 (h18g) are: their words and what
// its compiler cut are the source of every number in this file (751K's study of the M6).
type layers struct {
	n, channels, rows, columns int64
	taps                       [2]int64
	dilation                   int64
	groups                     int64
	pruned, octets, palette    bool // every second weight is zero; bytes with a scale; indices of four bits
}

// tasks returns the tasks of the compiled chain.
func (l layers) tasks(t *testing.T) []*td.Task {
	t.Helper()
	dilation, groups := max(l.dilation, 1), max(l.groups, 1)
	g := irbuild.New(1)
	x := g.Input(1, l.channels, l.rows, l.columns)
	shape := []int64{l.channels, l.channels / groups, l.taps[0], l.taps[1]}
	var w *ir.Value
	switch {
	case l.pruned:
		mask := g.Filled(ir.UInt1, func(i int64) float64 { return float64(i % 2) }, shape...)
		values := g.Filled(ir.FP16, weightAt, (l.channels*l.channels*l.taps[0]*l.taps[1])/2)
		w = g.Op("constexpr_sparse_to_dense", "nonzero_data", values, "mask", mask)
	case l.palette:
		indices := g.Filled(ir.UInt4, func(i int64) float64 { return float64(i * 7 % 11) }, shape...)
		w = g.Op("constexpr_lut_to_dense", "indices", indices, "lut", g.Filled(ir.FP16, weightAt, 1, 1, 1, 1, 16, 1))
	case l.octets:
		q := g.Filled(ir.Int8, func(i int64) float64 { return float64(i%251 - 125) }, shape...)
		scale := g.Filled(ir.FP16, func(int64) float64 { return 0x1p-9 }, l.channels, 1, 1, 1)
		w = g.Op("constexpr_blockwise_shift_scale", "data", q, "scale", scale)
	default:
		w = g.Filled(ir.FP16, weightAt, shape...)
	}
	for range l.n {
		before := func(n int64) int64 { return (n - 1) * dilation / 2 }
		after := func(n int64) int64 { return (n-1)*dilation - before(n) }
		x = g.Op("conv", "x", x, "weight", w, "pad_type", "custom", "groups", groups, "pad",
			[]int64{before(l.taps[0]), after(l.taps[0]), before(l.taps[1]), after(l.taps[1])},
			"dilations", []int64{dilation, dilation})
		x = g.Op("relu", "x", x)
	}
	g.Output(x)
	r, err := All(t.Context(), g.Program(), Options{Target: target.H18g, Place: passes.PlaceEngine})
	if err != nil {
		t.Fatal(err)
	}
	procs := r.HWX.Procedures()
	if len(procs) != 1 {
		t.Fatalf("%d procedures", len(procs))
	}
	text, off, _ := r.HWX.Text().Of(procs[0])
	chain, err := td.V24.DecodeChain(text, off, procs[0].Tasks)
	if err != nil {
		t.Fatal(err)
	}
	var tasks []*td.Task
	for _, p := range chain {
		tasks = append(tasks, p.Task)
	}
	return tasks
}

// weightAt is a weight that is not zero and differs from its neighbours, and a kernel's slices from each other.
func weightAt(i int64) float64 { return float64(1+i*7%1009) / 4096 }

func layersOf(channels, rows, columns, kh, kw int64) layers {
	return layers{n: 4, channels: channels, rows: rows, columns: columns, taps: [2]int64{kh, kw}}
}

// publishedTasks returns the published tasks of the M6 by the name of their program, in order, as words.
func publishedTasks(t *testing.T) map[string][][]uint32 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(shareddir.Find(t), "oracles", "h18g-words.txt"))
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string][][]uint32{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		name, _, ok := strings.Cut(fields[0], "-task")
		if !ok {
			continue
		}
		var ws []uint32
		for _, f := range fields[1:] {
			w, err := strconv.ParseUint(f, 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			ws = append(ws, uint32(w))
		}
		programs[name] = append(programs[name], ws)
	}
	return programs
}

// publishedLayers are the programs that published tasks are of.
var publishedLayers = map[string]layers{"1x8": layersOf(256, 16, 32, 1, 8), "1x9": layersOf(256, 16, 32, 1, 9)}

// TestPublishedTasksOfTheM6 compiles the two programs whose first tasks are published, word for word.
func TestPublishedTasksOfTheM6(t *testing.T) {
	n := 0
	for name, tasks := range publishedTasks(t) {
		compiled := publishedLayers[name].tasks(t)
		for i, want := range tasks {
			got := canonical(t, td.V24, compiled[i])
			for k := range max(len(want), len(got)) {
				if k >= len(want) || k >= len(got) || want[k] != got[k] {
					t.Errorf("%s task %d: word %d differs: %x, published %x", name, i, k, got, want)
					break
				}
			}
			n++
		}
	}
	if n != 4 {
		t.Errorf("%d published tasks", n)
	}
}

// TestWindowsOfTheM6 compares the word of the window, 0x28, with the published ones.
func TestWindowsOfTheM6(t *testing.T) {
	for _, c := range []struct {
		kh, kw, dilation int64
		word             uint32
	}{
		{1, 3, 1, 0x5002a043}, {1, 5, 1, 0x5004a045}, {1, 6, 1, 0x5004a046}, {1, 7, 1, 0x5006a047},
		{1, 8, 1, 0x5006a048}, {7, 1, 1, 0x50c0a1c1}, {9, 1, 1, 0x5100a241}, {15, 1, 1, 0x51c0a3c1},
		{3, 3, 1, 0x5042a0c3}, {5, 5, 1, 0x5084a145}, {7, 7, 1, 0x50c6a1c7}, {3, 7, 1, 0x5046a0c7},
		{7, 3, 1, 0x50c2a1c3}, {3, 3, 2, 0x5084a145}, {1, 9, 1, 0x6008c04a}, {1, 11, 1, 0x600ac04c},
		{1, 13, 1, 0x600cc04e}, {1, 15, 1, 0x600ec050},
	} {
		l := layersOf(16, 16, 32, c.kh, c.kw)
		l.n, l.dilation = 1, c.dilation
		task := l.tasks(t)[0]
		ws, err := td.V24.EncodeWords(task)
		at, ok := td.V24.WordIndex(task, td.Kw)
		if err != nil || !ok || ws[at] != c.word {
			t.Errorf("%dx%d, dilation %d: %#x, published %#x (%v)", c.kh, c.kw, c.dilation, ws[at], c.word, err)
		}
	}
}

// TestKernelsOfTheM6 compares the word of the kernel, 0x4900, with the published ones, by how weights are stored.
func TestKernelsOfTheM6(t *testing.T) {
	for name, c := range map[string]struct {
		layers
		word uint32
	}{
		"whole":     {layers{taps: [2]int64{1, 1}}, 0x10000082},
		"sparse":    {layers{taps: [2]int64{1, 1}, pruned: true}, 0x182},
		"bytes":     {layers{taps: [2]int64{1, 1}, octets: true}, 0x10000081},
		"palette":   {layers{taps: [2]int64{1, 1}, palette: true}, 0x10000046},
		"rewritten": {layers{taps: [2]int64{1, 9}}, 0x10000182},
	} {
		l := c.layers
		l.n, l.channels, l.rows, l.columns = 1, 64, 16, 32
		task := l.tasks(t)[0]
		ws := canonical(t, td.V24, task)
		if at, ok := td.V24.WordIndex(task, td.KernelFmt); !ok || ws[at] != c.word {
			t.Errorf("%s: %#x, published %#x", name, ws[at], c.word)
		}
	}
}

// TestTasksOfTheM6 compares the outputs of each task of a layer, the bytes of a core's part and the channels of a round
// with the published ones; 0 for what is not published.
func TestTasksOfTheM6(t *testing.T) {
	plain := layersOf(256, 16, 32, 0, 0)
	of := func(channels, kh, kw int64) layers {
		l := plain
		l.n, l.channels, l.taps = 1, channels, [2]int64{kh, kw}
		return l
	}
	low := func(l layers, rows int64) layers { l.rows = rows; return l }
	dilated, octets, pruned := of(512, 3, 3), of(512, 3, 3), of(256, 3, 3)
	dilated.dilation, octets.octets, pruned.pruned = 2, true, true
	depthwise := of(256, 3, 3)
	depthwise.groups = 256
	for _, c := range []struct {
		layers
		outputs []int
		bytes   map[int]int // of a core's part, by outputs
		round   int
	}{
		{layers: of(256, 1, 8), outputs: []int{256}, bytes: map[int]int{256: 0x10000}, round: 16},
		{layers: of(256, 1, 9), outputs: []int{64, 96, 96}, bytes: map[int]int{64: 0x9a40, 96: 0xe740}, round: 8},
		{layers: of(256, 1, 11), outputs: []int{16, 80, 80, 80}, bytes: map[int]int{80: 0xeb40}},
		{layers: of(256, 1, 15), outputs: []int{16, 48, 48, 48, 48, 48}, bytes: map[int]int{48: 0xc040}},
		{layers: of(16, 3, 3), outputs: []int{16}, round: 1}, {layers: of(64, 3, 3), outputs: []int{64}, round: 1},
		{layers: of(64, 1, 3), outputs: []int{64}, round: 1}, {layers: of(256, 1, 3), outputs: []int{256}, round: 2},
		{layers: of(256, 3, 3), outputs: []int{32, 224}, round: 2}, {layers: of(256, 9, 1), outputs: []int{32, 224}},
		{layers: of(256, 15, 1), outputs: []int{128, 128}}, {layers: of(256, 11, 1), outputs: []int{96, 160}},
		{layers: of(256, 5, 5), outputs: []int{64, 64, 64, 64}},
		{layers: of(256, 7, 7), outputs: []int{32, 32, 32, 32, 32, 32, 32, 32}},
		{layers: of(256, 3, 7), outputs: []int{64, 96, 96}},
		{layers: of(512, 3, 3), outputs: []int{32, 96, 96, 96, 96, 96}, round: 2},
		{layers: octets, outputs: []int{64, 224, 224}}, {layers: pruned, round: 16},
		{layers: dilated, outputs: []int{32, 80, 80, 80, 80, 80, 80}}, {layers: depthwise, round: 1},
		{layers: low(of(256, 3, 3), 4), outputs: []int{256}}, {layers: low(of(256, 1, 9), 8), outputs: []int{256}},
	} {
		var outputs []int
		for _, task := range c.tasks(t) {
			n := task.Int(td.Cout)
			outputs = append(outputs, n)
			if want, got := c.bytes[n], task.Int(td.CoeffSize); want != 0 && got != want {
				t.Errorf("%+v: a part of %#x bytes for %d outputs, published %#x", c.layers, got, n, want)
			}
			if got := 1 << task.Get(td.OCGSize); c.round != 0 && got != c.round {
				t.Errorf("%+v: rounds of %d channels, published %d", c.layers, got, c.round)
			}
		}
		if c.outputs != nil && !slices.Equal(outputs, c.outputs) {
			t.Errorf("%+v: tasks of %d outputs, published %d", c.layers, outputs, c.outputs)
		}
	}
}

// TestRowsOfTheM6 compares the padding of rows in L2 of chains of 3x3 taps with the published ones, on images of 16
// rows: 64 and 128 channels, 8 to 136 columns.
func TestRowsOfTheM6(t *testing.T) {
	for _, channels := range []int64{64, 128} {
		for columns := int64(8); columns <= 136; columns += 8 {
			l := layersOf(channels, 16, columns, 3, 3)
			l.n = 2
			pad := int64(0x30)
			if columns%16 == 8 {
				pad = 0x20
			}
			if got, want := int64(l.tasks(t)[1].Get(td.L2SrcRow)), channels*columns*2+pad; got != want {
				t.Errorf("%d channels of %d columns: rows of %#x bytes, published %#x", channels, columns, got, want)
			}
		}
	}
}

// TestTimesOfTheM6 compares the estimates in the headers of one layer with the published ones. Of 44 one differs, by a
// microsecond: 1x1 taps on 512 channels of 16x16 pixels, 14 published.
func TestTimesOfTheM6(t *testing.T) {
	for _, c := range []struct {
		taps, channels int64
		times          [3][]int // on 16x16, 32x32 and 64x64 pixels, a task after the other
	}{
		{1, 32, [3][]int{{0}, {1}, {5}}}, {1, 64, [3][]int{{1}, {2}, {10}}}, {1, 128, [3][]int{{2}, {5}, {21}}},
		{1, 256, [3][]int{{6}, {11}, {43}}}, {1, 512, [3][]int{{13}, {26}, {104}}},
		{3, 32, [3][]int{{0}, {1}, {5}}}, {3, 64, [3][]int{{1}, {3}, {14}}}, {3, 128, [3][]int{{4}, {14}, {58}}},
		{3, 256, [3][]int{{3, 12}, {7, 51}, {29, 205}}},
		{3, 512, [3][]int{{6, 11, 11, 11, 11, 11}, {14, 44, 44, 44, 44, 44}}},
	} {
		for i, want := range c.times {
			if want == nil {
				continue
			}
			l := layersOf(c.channels, 16<<i, 16<<i, c.taps, c.taps)
			l.n = 1
			var got []int
			for _, task := range l.tasks(t) {
				got = append(got, task.Int(td.ExeCycles))
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%d taps, %d channels, %d pixels: %d us, published %d", c.taps, c.channels, 16<<i, got, want)
			}
		}
	}
}
