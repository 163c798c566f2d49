package cost

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// convolution is a 3x3 convolution of 64 channels to 128 over 16x16 pixels, whose
// tensors come and go by DMA.
func convolution() *td.Task {
	x := td.New().Set(td.Win, 16).Set(td.Hin, 16).Set(td.Din, 1).Set(td.Cin, 64).Set(td.Cout, 128).Set(td.Wout, 16).
		Set(td.Hout, 16).Set(td.Dout, 1)
	x.Set(td.Kw, 3).Set(td.Kh, 3).Set(td.Sx, 1).Set(td.Sy, 1).Set(td.NumGroups, 1).Set(td.ActiveNE, 4)
	x.Set(td.InFmt, 2).Set(td.OutFmt, 2).Set(td.SrcMemFmt, 2).Set(td.DstMemFmt, 2).SetBool(td.SrcEn, true).
		SetBool(td.DstEn, true)
	x.SetBool(td.KernelOn, true).SetBool(td.KBE0, true).Set(td.KBase0, 1)
	for i := range td.Lanes {
		x.SetBool(td.CoeffEn.At(i), true).Set(td.CoeffBase.At(i), 9216*i).Set(td.CoeffSize.At(i), 9216)
	}
	return x
}

// TestEstimateMatchesTermsComputedByHand also checks the bottleneck of each case.
func TestEstimateMatchesTermsComputedByHand(t *testing.T) {
	base := Estimate(convolution(), target.H13)
	const (
		macs = 3 * 3 * 64 * 128 * 16 * 16
		tile = 64*16*64 + 128*16*64 // rows of 32 bytes take 64
		lane = 16 * 9216
	)
	if base.MACs != macs || base.TileBytes != tile || base.Kernel.Bytes != lane || base.Bytes() != tile+lane {
		t.Errorf("%+v, want %d products, %d and %d bytes", base, macs, tile, lane)
	}
	r := RatesOf(target.H13)
	if want := Time(math.Ceil(macs * 2 / r.Products * 1e9)); base.Alone[Products] != want {
		t.Errorf("products take %s us, want %s", base.Alone[Products], want)
	}
	if want := Time(math.Ceil((tile + lane) / r.DMA * 1e9)); base.Alone[DMA] != want || base.Time != want ||
		base.Bound != DMA {
		t.Errorf("DMA takes %s us, want %s; %s binds in %s us", base.Alone[DMA], want, base.Bound, base.Time)
	}
	for _, c := range []struct {
		name   string
		change func(x *td.Task)
		want   func(e *Task) bool
	}{
		{"one core", func(x *td.Task) { x.Set(td.ActiveNE, 0) }, func(e *Task) bool {
			return e.Bound == Products && e.Time > 15*base.Alone[Products] && e.Time <= 16*base.Alone[Products]
		}},
		{"no DMA", func(x *td.Task) { x.Set(td.SrcEn, 0).Set(td.DstEn, 0).Set(td.KernelOn, 0) }, func(e *Task) bool {
			return e.Bytes() == 0 && e.Bound == Products && 2*e.L2Bytes == base.L2Bytes
		}},
		{"channelwise", func(x *td.Task) {
			x.SetBool(td.UnicastEn, true).Set(td.Cout, 64)
		}, func(e *Task) bool { return e.MACs == macs/128 }},
		{"pairs of columns", func(x *td.Task) {
			x.SetBool(td.UnicastEn, true).Set(td.Cout, 64).Set(td.Ox, 2).Set(td.Wout, 8)
		}, func(e *Task) bool { return e.MACs == macs/128 }},
		{"groups", func(x *td.Task) { x.Set(td.NumGroups, 4).Set(td.Cin, 16).Set(td.Cout, 32) }, func(e *Task) bool {
			return e.MACs == macs/4 && e.TileBytes == tile
		}},
		{"pass in L2", func(x *td.Task) {
			x.Set(td.NEOp, int(td.NEPass)).Set(td.SrcEn, 0).Set(td.DstEn, 0).Set(td.KernelOn, 0)
		}, func(e *Task) bool {
			return e.MACs == 0 && e.Bound == L2 && e.Time == e.Alone[L2] && e.Time > 0
		}},
		{"planar reduction", func(x *td.Task) {
			x.Set(td.PlanarType, int(td.PlanarReduce)).Set(td.Kw, 1).Set(td.Kh, 1).Set(td.Cout, 64).Set(td.KernelOn, 0)
		}, func(e *Task) bool { return e.MACs == 0 && e.TileBytes == 64*16*64+64*64 }},
		{"spread source", func(x *td.Task) {
			x.Set(td.PlanarType, int(td.PlanarTwo)).SetBool(td.Bcast1H, true).Set(td.Kw, 1).Set(td.Kh, 1).
				Set(td.KernelOn, 0)
		}, func(e *Task) bool { return e.TileBytes == 64*64+128*16*64 }},
	} {
		x := convolution()
		c.change(x)
		if e := Estimate(x, target.H13); x.Err() != nil || !c.want(&e) {
			t.Errorf("%s: %v, %+v", c.name, x.Err(), e)
		}
	}
}

// TestStagesAddUpToADispatch checks it for every target, and that the published stages add up to the published 190 us.
func TestStagesAddUpToADispatch(t *testing.T) {
	published := 0.0
	for c := range causes {
		if s := causes[c].stage; s != nil {
			published += s.Value
		}
	}
	if math.Abs(published-190) > 1e-9 {
		t.Errorf("the published stages add up to %g us", published)
	}
	for _, tab := range target.All {
		sum := Time(0)
		for _, s := range Stages(tab) {
			if s.Time <= 0 || s.Name == "" {
				t.Errorf("%s: stage %+v", tab.Name, s)
			}
			sum += s.Time
		}
		if sum != Overhead(tab) {
			t.Errorf("%s: stages add up to %s us, a dispatch takes %s", tab.Name, sum, Overhead(tab))
		}
	}
}

func TestTargetsWithMeasuredChipsHaveTheirOwnRates(t *testing.T) {
	for name, chip := range map[string]string{"h13": "M1", "h13g": "M1 Max", "h14g": "M2 Pro", "h16": "M4",
		"h16g": "M4", "h17s": "M5 Pro", "h17": "M5 Pro", "h18g": "M6", "h11": "M1", "h14": "M2 Pro", "h15": "M2 Pro"} {
		if got := RatesFor(name).Chip; got != chip {
			t.Errorf("%s has the rates of the %s, want the %s", name, got, chip)
		}
	}
}

func TestBandsAddUpTheirParts(t *testing.T) {
	r := &Rates{Chip: "M9", Bands: [Parts]Factors{{.5, 2}, {.9, 1.2}, {.5, 1}, {1, 10}, {.1, 4}, {}}}
	for _, c := range []struct {
		parts     PartTimes
		low, high Time
		text      string
	}{
		{PartTimes{200_000, 50_000}, 125_000, 500_000, "250 us (130 to 500, M9)"},
		{PartTimes{200_000, 800_000}, 900_000, 1_200_000, "1 ms (0.9 to 1.2, M9)"},
		{PartTimes{200_000, 800_000, 1_000_000}, 1_400_000, 2_200_000, "2 ms (1.4 to 2.2, M9)"},
		{PartTimes{200_000, 800_000, 0, 100_000, 300_000}, 1_030_000, 3_400_000, "1.4 ms (1 to 3.4, M9)"},
		{PartTimes{PartCPU: 900_000}, 300_000, 2_700_000, "900 us (300 to 2700, M9)"},
		{PartTimes{PartCPU: 11_300_000_000}, 3_766_666_667, 33_900_000_000, "11.3 s (3.8 to 34, M9)"},
		{PartTimes{}, 0, 0, "0 ns (0 to 0, M9)"},
	} {
		b, sum := r.Band(&c.parts), Time(0)
		for _, x := range c.parts {
			sum += x
		}
		if b != (Band{c.low, c.high, "M9"}) || b.Within(sum) != c.text {
			t.Errorf("%v: %+v, %q; want %d to %d, %q", c.parts, b, b.Within(sum), c.low, c.high, c.text)
		}
	}
	if got := (*Band)(nil).Within(5000); got != "5 us" {
		t.Errorf("a time without a band is %q", got)
	}
}

// TestPointsAreWithinTheErrorsOfTheirChips checks that the tables agree, and that estimates and bands are as good as
// they must be.
func TestPointsAreWithinTheErrorsOfTheirChips(t *testing.T) {
	shown, held := 0, 0
	for i := range Chips {
		r := &Chips[i]
		points, apart := 0, 0
		for _, p := range Points {
			if p.Chip != r.Chip {
				continue
			}
			points++
			if p.Apart {
				apart++
			}
			if p.Low > p.Estimate || p.High < p.Estimate || p.Low <= 0 {
				t.Errorf("%s, %s: the band from %g to %g is not around %g", p.Chip, p.Graph, p.Low, p.High, p.Estimate)
			}
		}
		if points != r.Shown || points-apart != r.Points {
			t.Errorf("%s: %d points, %d of them apart, and the table says %d and %d", r.Chip, points, apart, r.Shown,
				r.Shown-r.Points)
		}
		shown, held = shown+r.Shown, held+r.Held
	}
	if share := float64(held) / float64(shown); share < .8 || share > .95 {
		t.Errorf("the bands hold %.0f %% of the points, want 80 to 95", 100*share)
	}
	for chip, limit := range map[string][2]float64{"M1": {.1, .2}, "M1 Max": {.12, .35}} {
		for _, r := range Chips {
			if r.Chip == chip && (r.Median > limit[0] || r.P90 > limit[1]) {
				t.Errorf("%s: left out, off by %.1f %% at the median and %.1f %% for nine of ten", chip, 100*r.Median,
					100*r.P90)
			}
		}
	}
}

func TestConstantsHaveNameValueAndSource(t *testing.T) {
	for _, c := range Constants(target.H13) {
		if c.Name == "" || c.Source == "" || c.Value <= 0 {
			t.Errorf("%+v", c)
		}
	}
}

func TestTimesRoundTrip(t *testing.T) {
	for _, c := range []struct {
		t    Time
		want string
	}{{0, "0.000"}, {1, "0.001"}, {1234567, "1234.567"}, {-1500, "-1.500"}} {
		if c.t.String() != c.want {
			t.Errorf("%d is %s, want %s", c.t, c.t, c.want)
		}
		var back Time
		if b, err := json.Marshal(c.t); err != nil || json.Unmarshal(b, &back) != nil || back != c.t {
			t.Errorf("%s comes back as %s", c.want, back)
		}
	}
	s := Split{1, 30, 2000, 0, 5}
	var back Split
	b, err := json.Marshal(s)
	if err != nil || json.Unmarshal(b, &back) != nil || back != s {
		t.Errorf("%s comes back as %v, %v", b, back, err)
	}
	if s.Binding() != Products || s.Total() != 2036 {
		t.Errorf("%s of %d", s.Binding(), s.Total())
	}
}

// TestEstimatesOfRandomTasksArePositive also checks that counts do not overflow.
func TestEstimatesOfRandomTasksArePositive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words, err := td.V7.EncodeWords(convolution())
	if err != nil {
		t.Fatal(err)
	}
	decoded := 0
	for range 2000 {
		ws := append([]uint32(nil), words...)
		for range 1 + r.IntN(40) {
			ws[r.IntN(len(ws))] = r.Uint32()
		}
		x, err := td.V7.DecodeWords(ws)
		if err != nil {
			continue
		}
		decoded++
		e := Estimate(x, target.H13)
		if x.On(td.TDSkip) {
			if e != (Task{Bound: L2}) {
				t.Fatalf("a task that is passed over takes %+v", e)
			}
			continue
		}
		if e.MACs < 0 || e.TileBytes < 0 || e.Kernel.Bytes < 0 || e.L2Bytes <= 0 || e.L2End < 0 ||
			e.L2End > target.H13.L2Bytes || e.Time <= 0 || e.Cycles < 0 || e.Time != e.Alone[e.Bound] {
			t.Fatalf("%+v", e)
		}
	}
	if decoded == 0 {
		t.Error("no changed task decodes")
	}
}

func TestShortHasThreeDigitsAtMost(t *testing.T) {
	for _, c := range []struct {
		t    Time
		want string
	}{
		{0, "0 ns"}, {999, "999 ns"}, {1000, "1 us"}, {1234, "1.23 us"}, {999_499, "999 us"}, {999_500, "1 ms"},
		{467_673_150, "468 ms"}, {-2_500_000, "-2.5 ms"}, {1_500_000_000_000, "1500 s"},
	} {
		if got := c.t.Short(); got != c.want {
			t.Errorf("%d ns is %q, want %q", int64(c.t), got, c.want)
		}
	}
}
