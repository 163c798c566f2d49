package weights

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"testing"
)

// TestRecordedSteps compares the constant sections of recorded programs, which are these tables.
func TestRecordedSteps(t *testing.T) {
	// With several lanes, the rest of the space that copies would take is zero.
	section := func(parts ...[]byte) string {
		h := sha256.New()
		for _, p := range parts {
			h.Write(p)
		}
		return hex.EncodeToString(h.Sum(nil))
	}
	table := func(a *Activation) []byte { return a.Table.Bytes() }
	rest := make([]byte, 7*TableBytes)
	isZero, notZero, negative := table(Steps(0, 0, 1, 0)), table(Steps(0, 1, 0, 1)), table(Steps(0, 1, 0, 0))
	kernel := make([]byte, Granule)
	for i := range 4 {
		kernel[2*i], kernel[2*i+1] = 1, 0xff
	}
	var less [][]byte
	for range MaxCores {
		less = append(less, negative, kernel)
	}
	for _, c := range []struct{ name, sum, want string }{
		{"select_rrb_1x64x1x1", section(notZero, rest, isZero, rest),
			"b292d7e287aa9335bdba3b99e60dc77f688f93f65f52934c874bb4342a5ea049"},
		{"less_bool_rr_1x64x1x1", section(less...), "3d6fd6f37aa10ae9ed58523e5522c6d3c88f444525df1b1eb6f78106e8c5251f"},
		{"floor_r_1x512x1x1", section(table(Fraction()), rest, negative, table(Whole()), rest),
			"7c8bdcb1517ecb336e3927fe4da9a0ce5fc8057b454287d788e7a4335d115de9"},
		{"logical_not, a public record", section(isZero),
			"ee52b53b5f3fa4235b2c603325a5bf38d5d5994ae135ff4752b7ff9e24b86f3a"},
	} {
		if c.sum != c.want {
			t.Errorf("%s: constants %s, recorded %s", c.name, c.sum, c.want)
		}
	}
}

// TestStepsAreExact evaluates tables of steps, of bounds around zero and of the parts of a number
// for every input.
func TestStepsAreExact(t *testing.T) {
	tables := []*Activation{Around(-0.5, 0.5, -1, 0, 1), Whole(), Fraction()}
	for _, c := range []float64{0, smallest, -smallest, 0x3ffp-24, 0x1p-14, 1, -1, 0.1, 2048, maxFP16, -maxFP16,
		math.Inf(1),
		math.Inf(-1)} {
		c = FromFP16(ToFP16(c))
		tables = append(tables, Steps(c, -1, 0.5, 2), Steps(c, 1, 0, 1), Steps(c, 0, 1, 0))
	}
	for i, a := range tables {
		if err := a.Table.Check(); err != nil {
			t.Errorf("table %d: %v", i, err)
		}
		for x := range 1 << 16 {
			v := FromFP16(uint16(x))
			if math.IsNaN(v) {
				continue
			}
			want := a.F(v)
			if math.IsNaN(want) {
				want = 0 // what is left of an infinity
			}
			if got := FromFP16(a.Table.Eval(uint16(x))); got != want {
				t.Fatalf("table %d at %g: %g, want %g", i, v, got, want)
			}
		}
	}
}

func TestTableOfPartsRefusesKnots(t *testing.T) {
	for _, a := range []*Activation{Whole(), Fraction()} {
		a.Table[wordKnots+3] = 1
		if a.Table.Check() == nil {
			t.Errorf("mode %v takes knots", a.Table.Mode())
		}
	}
}
