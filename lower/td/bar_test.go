package td

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"
)

func TestCustomBars(t *testing.T) {
	bars := []CustomBar{
		{Task: 0, Kind: BarAddress, Register: SlotSource.Register(), Bit: 6, Width: 26},
		{Task: 3, Kind: BarDataSet, Register: 0x4510, Bit: 4, Width: 17},
		{Task: 0xffff, Kind: BarOffset, Register: 0x5584, Bit: 0, Width: 32},
		{Task: 1, Kind: BarOffset, Register: 0x0000, Bit: 31, Width: 1},
	}
	b, err := EncodeBars(bars, MaxWireBars)
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeBars(b, MaxWireBars)
	if err != nil || !reflect.DeepEqual(back, bars) {
		t.Fatalf("%v, %v", back, err)
	}
	img := bytes.Repeat([]byte{0xff}, ImageSize)
	if err := bars[1].Write(img, 0x1); err != nil {
		t.Fatal(err)
	}
	if got := binary.LittleEndian.Uint32(img[G4.Image+0x10:]); got != 0xffe0001f {
		t.Errorf("the word is %#x", got)
	}
	if n := bytes.Count(img, []byte{0xff}); n != ImageSize-3 {
		t.Errorf("%d bytes are untouched, want all but 3 of %d", n, ImageSize)
	}
	if err := bars[1].Write(img, 1<<17); err == nil || !strings.Contains(err.Error(), "does not fit 17 bits") {
		t.Error(err)
	}
	for _, c := range []struct {
		n, limit int
		ok       bool
	}{{32, MaxWireBars, true}, {33, MaxWireBars, false}, {128, MaxProgramBars, true}, {129, MaxProgramBars, false}} {
		many := make([]CustomBar, c.n)
		for i := range many {
			many[i] = bars[0]
		}
		b, err := EncodeBars(many, c.limit)
		if (err == nil) != c.ok {
			t.Errorf("%d bars of %d: %v", c.n, c.limit, err)
		}
		if c.ok {
			if _, err := DecodeBars(b, c.limit-1); err == nil || !strings.Contains(err.Error(), "at most") {
				t.Errorf("%d bars of %d: %v", c.n, c.limit-1, err)
			}
		}
	}
	for _, c := range []struct {
		bar  CustomBar
		want string
	}{
		{CustomBar{Task: 0, Kind: 4, Register: 0x4d10, Bit: 0, Width: 1}, "byte 0xc: bar 0: kind: 4"},
		{CustomBar{
			Task:     0,
			Kind:     BarOffset,
			Register: 0x6000,
			Bit:      0,
			Width:    1,
		}, "register: 0x6000: in none of the seven groups"},
		{CustomBar{Task: 0, Kind: BarOffset, Register: 0x4d12, Bit: 0, Width: 1}, "register: 0x4d12"},
		{CustomBar{Task: 0, Kind: BarOffset, Register: 0x4d10, Bit: 6, Width: 27}, "bit-field: bit 6, width 27"},
		{CustomBar{Task: 0, Kind: BarOffset, Register: 0x4d10, Bit: 6, Width: 0}, "bit-field: bit 6, width 0"},
		{CustomBar{Task: 1 << 16, Kind: BarOffset, Register: 0x4d10, Bit: 0, Width: 1}, "task index: 65536"},
	} {
		if _, err := EncodeBars([]CustomBar{c.bar}, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.bar, err, c.want)
		}
	}
	for _, c := range []struct {
		off  int
		v    byte
		want string
	}{
		{0, 'X', "byte 0x0: magic"},
		{4, 2, "byte 0x4: version: 2"},
		{6, 3, "byte 0x6: count: 3 bars take 44 bytes, there are 56"},
		{8, 2, "byte 0x8: bar 0: type: 2: known is 1, generic"},
		{9, 64, "byte 0x9: bar 0: configuration: 64 bits"},
		{16 + 12, 1, "byte 0x1c: bar 1: reserved word"},
	} {
		bad := bytes.Clone(b)
		bad[c.off] = c.v
		if _, err := DecodeBars(bad, MaxWireBars); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestLiveIns(t *testing.T) {
	params := []LiveIn{{Name: "rows", Input: 0, Start: 1, Stop: 1, Step: 1}, {Name: "stride", Input: 2, Start: 64,
		Stop: 4096, Step: 64}}
	b, err := EncodeLiveIns(params)
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeLiveIns(b)
	if err != nil || !reflect.DeepEqual(back, params) {
		t.Fatalf("%v, %v", back, err)
	}
	for n := range b {
		if _, err := DecodeLiveIns(b[:n]); err == nil {
			t.Errorf("cut to %d bytes it decodes", n)
		}
	}
	for _, c := range []struct {
		values map[string]int64
		want   string // "" if accepted
	}{
		{map[string]int64{"rows": 1, "stride": 64}, ""},
		{map[string]int64{"rows": 1, "stride": 4096}, ""},
		{map[string]int64{"rows": 1, "stride": 0}, `"stride" = 0: out of its range 64..4096`},
		{map[string]int64{"rows": 2, "stride": 64}, `"rows" = 2: out of its range 1..1`},
		{map[string]int64{"rows": 1, "stride": 4160}, `"stride" = 4160: out of its range`},
		{map[string]int64{"rows": 1, "stride": 100}, `"stride" = 100: off its step: values are 64 + k*64 up to 4096`},
		{map[string]int64{"rows": -1 << 63, "stride": 64}, `"rows" = -9223372036854775808: out of its range`},
		{map[string]int64{"stride": 64}, `"rows" has no value`},
		{map[string]int64{"rows": 1, "stride": 64, "z": 1, "a": 1}, `"a" is no live-in parameter`},
	} {
		err := BindLiveIns(params, c.values)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, want %s", c.values, err, c.want)
		}
	}
	for _, c := range []struct {
		params []LiveIn
		want   string
	}{
		{[]LiveIn{{Input: 0, Start: 0, Stop: 0, Step: 1}}, "byte 0x8: name"},
		{[]LiveIn{{Name: "a", Input: 0, Start: 0, Stop: 0, Step: 0}}, "byte 0x14: step: 0"},
		{[]LiveIn{{Name: "a", Input: 0, Start: 2, Stop: 1, Step: 1}}, "byte 0x10: stop: 1"},
		{[]LiveIn{{Name: "a", Input: 0, Start: 0, Stop: 5, Step: 2}},
			"stop: 5: parameter \"a\", from 0 in steps of 2, does not reach it"},
		{[]LiveIn{{Name: "a", Input: -1, Start: 0, Stop: 0, Step: 1}}, "input: -1"},
		{[]LiveIn{{Name: "a", Input: 0, Start: 0, Stop: 0, Step: 1}, {Name: "a", Input: 0, Start: 0, Stop: 0, Step: 1}},
			"byte 0x19: name: \"a\" is there twice"},
	} {
		if _, err := EncodeLiveIns(c.params); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.params, err, c.want)
		}
	}
}

// FuzzLists feeds the readers of bars, parameters, images and text.
func FuzzLists(f *testing.F) {
	bars, err := EncodeBars([]CustomBar{{Task: 3, Kind: BarDataSet, Register: 0x4510, Bit: 4, Width: 17}}, MaxWireBars)
	if err != nil {
		f.Fatal(err)
	}
	params, err := EncodeLiveIns([]LiveIn{{Name: "stride", Input: 2, Start: 64, Stop: 4096, Step: 64}})
	if err != nil {
		f.Fatal(err)
	}
	var text bytes.Buffer
	if err := WriteText(&text, []Program{{"net", twoTasks()}}); err != nil {
		f.Fatal(err)
	}
	for _, b := range [][]byte{bars, params, text.Bytes()} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if bars, err := DecodeBars(b, MaxProgramBars); err == nil {
			if back, err := EncodeBars(bars, MaxProgramBars); err != nil || !bytes.Equal(back, b) {
				t.Fatalf("the bars changed (%v)", err)
			}
		}
		if params, err := DecodeLiveIns(b); err == nil {
			if back, err := EncodeLiveIns(params); err != nil || !bytes.Equal(back, b) {
				t.Fatalf("the parameters changed (%v)", err)
			}
		}
		ps, err := ReadText(string(b))
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if err := WriteText(&first, ps); err != nil {
			t.Fatal(err)
		}
		if ps, err = ReadText(first.String()); err != nil {
			t.Fatal(err)
		}
		if err := WriteText(&second, ps); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("the text changed (%v)", err)
		}
	})
}
