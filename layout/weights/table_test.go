package weights

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

func words(head, knots, tail string) []string {
	return strings.Fields(head + " " + knots + " " + tail)
}

var recordedTables = map[string][]string{
	"exp": words("ce40 4c00 0000 7c00",
		"3c00 3c16 3c2d 3c45 3c5d 3c75 3c8e 3ca8 3cc2 3cdc 3cf8 3d14 3d30 3d4d 3d6b 3d89 3da8 3dc8 3de8 3e09 3e2b "+
			"3e4e 3e71 3e95 3eba 3ee0 3f06 3f2e 3f56 3f7f 3fa9 3fd4 4000",
		"0000 0000 0000 0000 0005 000a"),
	"reciprocal": words("0000 7c00 7c00 0000",
		"4000 3fc2 3f88 3f50 3f1c 3eeb 3ebd 3e90 3e66 3e3e 3e18 3df4 3dd1 3db0 3d91 3d72 3d55 3d39 3d1f 3d05 3cec "+
			"3cd5 3cbe 3ca8 3c92 3c7e 3c6a 3c57 3c44 3c32 3c21 3c10 3c00",
		"0000 0000 0000 0000 0006 0067"),
}

func goldenSigmoid(t *testing.T) *Table {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(shareddir.Find(t), "golden", "apple-h13", "sigmoid.hwx"))
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.Index(b, []byte{0xf8, 0xc8, 0x29, 0x48, 0, 0, 0, 0x3c})
	if i < 0 {
		t.Fatal("sigmoid.hwx holds no table")
	}
	tab, err := parseTable(b[i:])
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// recordedHashes are the SHA-256 of recorded tables, by name of function and
// parameters. sqrt, log2 and silu were recorded on a later target of the family,
// whose other tables equal those of h13.
var recordedHashes = []struct {
	name   string
	params []float64
	hash   string
}{
	{"sigmoid", nil, "73f5680aa5f7b3833479e0ecd5a9dd0e3ec221e3aad5170e9db1e40e7a0c7469"},
	{"tanh", nil, "f4a38468b2a29430c8ffa4bb04cef84b8347394bbe2d6eb1081093ed4eaa57c6"},
	{"gelu", nil, "34540958c4c1928918d1f50b00a88a56a3b8291f13d0b010fe4646d1d7f89838"},
	{"silu", nil, "0d48f9b9a9a791fcef312a765cd621e43acb2b56306b9bf491ee0957c5842897"},
	{"exp2", nil, "b7b6085a1edc7def0f0bb2fc1fe345f1ba9d9a1a47e55b4516273149323b54d2"},
	{"sqrt", nil, "07dff4d87f5df889ef0981865b54a4253e00c12eb444430215be401fe2d69607"},
	{"rsqrt", nil, "182158a2cbc0c3da91e3447d7afae8825d45a1e6396d611b4a48fb2ed8f0a6d3"},
	{"log2", nil, "d6889430e6ba96f59e9581b83919f7dd159c22229e8e9060b4c5518702c3d284"},
	// These tables are stored as 2048 bytes, with zeros after the table.
	{"leaky_relu", []float64{0.125}, "137349d1334abe41447c43bb17c9c33d8a3513ffa2b9084c3f0b622a99c6d0f9"},
	{"threshold", []float64{0.5}, "df1ae3605b08b3031177204191133b76a5447af3b090eae33b7147d0a8b92f03"},
	{"minimum", []float64{0.5}, "ce09200c6aa706965dbc08f7f74234c9145563914b6adb9df629857f4ce1844d"},
}

func TestRecordedHashes(t *testing.T) {
	for _, tc := range recordedHashes {
		a, err := Activate(tc.name, tc.params...)
		if err != nil {
			t.Fatal(err)
		}
		b := a.Table.Bytes()
		if tc.params != nil {
			b = append(b, make([]byte, 2048-TableBytes)...)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(b)); got != tc.hash {
			t.Errorf("%s%v hashes to %s, want %s", tc.name, tc.params, got, tc.hash)
		}
	}
}

// TestGeneratedAgainstRecorded lists, word by word, where the rule produces what was recorded and where it does not.
func TestGeneratedAgainstRecorded(t *testing.T) {
	for _, tc := range []struct {
		name     string
		recorded *Table
		words    string
	}{
		{"exp", recordedTable("exp"), "[]"},
		{"reciprocal", recordedTable("reciprocal"), "[]"},
		{"sigmoid", goldenSigmoid(t), "[]"},
	} {
		a, err := Activate(tc.name)
		if err != nil {
			t.Fatal(err)
		}
		d := []int{}
		for i := range a.Table {
			if a.Table[i] != tc.recorded[i] {
				d = append(d, i)
			}
		}
		if got := fmt.Sprint(d); got != tc.words {
			t.Errorf("%s: words %s differ from the recorded table, want %s", tc.name, got, tc.words)
		}
		mine, theirs := a.Worst(), worst(tc.recorded, a.F, FromFP16(a.Scale), 1, a.Low, a.High)
		if mine.Abs > theirs.Abs {
			t.Errorf("%s: worst error %g, the recorded table's is %g", tc.name, mine.Abs, theirs.Abs)
		}
	}
}

// statedErrors is the worst error of every table over its domain: absolute for bounded functions and those that grow
// like x, relative for the rest. A report may state these numbers.
var statedErrors = []struct {
	name     string
	params   []float64
	relative bool
	worst    string
}{
	{name: "sigmoid", relative: false, worst: "0.00335"},
	{name: "tanh", relative: false, worst: "0.00165"},
	{name: "silu", relative: false, worst: "0.01491"},
	{name: "gelu", relative: false, worst: "0.00616"},
	{name: "gelu_tanh_approximation", relative: false, worst: "0.00614"},
	{name: "gelu_sigmoid_approximation", relative: false, worst: "0.00653"},
	{name: "erf", relative: false, worst: "0.00086"},
	{name: "softplus", relative: false, worst: "0.00804"},
	{name: "exp2", relative: true, worst: "0.00087"},
	{name: "exp", relative: true, worst: "0.00532"},
	{name: "reciprocal", relative: true, worst: "0.00084"},
	{name: "sqrt", relative: true, worst: "0.00092"},
	{name: "rsqrt", relative: true, worst: "0.00144"},
	{name: "log", relative: false, worst: "0.01271"},
	{name: "log2", relative: false, worst: "0.00791"},
	{name: "log10", relative: false, worst: "0.00414"},
	{name: "sin", relative: false, worst: "0.00221"},
	{name: "cos", relative: false, worst: "0.00806"},
	{name: "atan", relative: false, worst: "0.01934"},
	{name: "relu", relative: false, worst: "0.00000"},
	{name: "relu6", relative: false, worst: "0.00000"},
	{name: "clip", params: []float64{-1.5, 3}, relative: false, worst: "0.00000"},
	{name: "threshold", params: []float64{0.5}, relative: false, worst: "0.00000"},
	{name: "minimum", params: []float64{2}, relative: false, worst: "0.00000"},
	{name: "leaky_relu", params: []float64{0.01}, relative: true, worst: "0.00069"},
	{name: "elu", params: []float64{1}, relative: false, worst: "0.00694"},
	{name: "sigmoid_hard", params: []float64{0.2, 0.5}, relative: false, worst: "0.00029"},
	{name: "scaled_tanh", params: []float64{1.7159, 2.0 / 3}, relative: false, worst: "0.00484"},
}

func TestStatedErrors(t *testing.T) {
	covered := map[string]bool{}
	for _, tc := range statedErrors {
		covered[tc.name] = true
		a, err := Activate(tc.name, tc.params...)
		if err != nil {
			t.Fatal(err)
		}
		w := a.Worst()
		v := w.Abs
		if tc.relative {
			v = w.Rel
		}
		if got := fmt.Sprintf("%.5f", v); got != tc.worst {
			t.Errorf("%s%v: worst error %s, stated %s (at %g)", tc.name, tc.params, got, tc.worst, FromFP16(w.AbsAt))
		}
		if err := a.Table.Check(); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		for i := wordMode + 1; i < TableWords; i++ {
			if a.Table[i] != 0 {
				t.Errorf("%s: word %d is %#x", tc.name, i, a.Table[i])
			}
		}
	}
	for i := range functions {
		if n := functions[i].name; !covered[n] {
			t.Errorf("no error is stated for %s", n)
		}
	}
}

// TestStepsAreBest checks that no other knot spacing has a smaller worst error, except where a recorded table fixes the
// step.
func TestStepsAreBest(t *testing.T) {
	for i := range functions {
		fn := &functions[i]
		switch fn.name {
		case "sigmoid", "tanh", "silu", "gelu":
			continue
		}
		if fn.params > 0 {
			continue
		}
		s, err := fn.make(nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.Mode != ModePlain && s.Mode != ModeOdd || s.Step == LinesOnly {
			continue
		}
		worst := func(step int) float64 {
			s.Step = step
			tab, err := Generate(s)
			if err != nil {
				t.Fatal(err)
			}
			return fn.activation(s, tab).Worst().Abs
		}
		chosen := worst(s.Step)
		for step := range 5 {
			if w := worst(step); w < chosen {
				t.Errorf("%s: step %d has worst error %g, below %g", fn.name, step, w, chosen)
			}
		}
	}
}

func TestEvalEdges(t *testing.T) {
	inf, ninf, nan := uint16(0x7c00), uint16(0xfc00), uint16(0x7e00)
	for _, tc := range []struct {
		name     string
		params   []float64
		in, want uint16
	}{
		{name: "exp2", in: 0x0000, want: 0x3c00}, {name: "exp2", in: 0xbc00, want: 0x3800}, {name: "exp2", in: 0x4b80,
			want: 0x7800},
		{name: "exp2", in: 0xce00, want: 0x0001}, {name: "exp2", in: 0xce40, want: 0}, {name: "exp2", in: 0x4c00,
			want: inf}, {name: "exp2", in: nan, want: inf},
		{name: "reciprocal", in: 0x4000, want: 0x3800}, {name: "reciprocal", in: 0, want: inf},
		{name: "reciprocal", in: 0x8000, want: inf}, {name: "reciprocal", in: inf, want: 0},
		{name: "reciprocal", in: 0xc000, want: 0xb800}, {name: "tanh", in: 0xfc00, want: 0xbc00},
		{name: "tanh", in: 0xc700, want: 0xbc00}, {name: "tanh", in: 0xb000, want: 0xaff5},
		{name: "rsqrt", in: 0xbc00, want: 0}, {name: "log", in: 0xbc00, want: 0}, {name: "log2", in: inf, want: 0},
		{name: "sqrt", in: 0x4400, want: 0x4000}, {name: "sqrt", in: 0, want: 0}, {name: "sqrt", in: inf, want: inf},
		{name: "sqrt", in: 0xbc00, want: 0},
		{name: "rsqrt", in: 0x4400, want: 0x3800}, {name: "rsqrt", in: 0x3400, want: 0x4000},
		{name: "rsqrt", in: 0, want: inf}, {name: "rsqrt", in: 0x0001, want: 0x6c00},
		{name: "log2", in: 0x4800, want: 0x4200}, {name: "log2", in: 0x3c00, want: 0}, {name: "log2", in: 0x0001,
			want: 0xce00}, {name: "log", in: 0x3c00, want: 0},
		{name: "log", in: 0, want: 0xfc00}, {name: "sigmoid", in: 0, want: 0x3800}, {name: "sigmoid", in: ninf,
			want: 0}, {name: "tanh", in: 0x8000, want: 0},
		{name: "leaky_relu", params: []float64{0.5}, in: 0xc000, want: 0xbc00},
		{name: "leaky_relu", params: []float64{0.5}, in: ninf, want: ninf},
		{name: "leaky_relu", params: []float64{-0.5}, in: ninf, want: inf}, {name: "clip", params: []float64{-1, 2},
			in: 0x4700, want: 0x4000},
		{name: "clip", params: []float64{-1, 2}, in: 0x3555, want: 0x3555}, {name: "threshold", params: []float64{1},
			in: ninf, want: 0x3c00}, {name: "minimum", params: []float64{1}, in: ninf, want: ninf},
		{name: "gelu", in: inf, want: inf}, {name: "elu", params: []float64{1}, in: ninf, want: 0xbc00},
	} {
		a, err := Activate(tc.name, tc.params...)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Table.Eval(tc.in); got != tc.want {
			t.Errorf("%s%v(%g) is %#04x, want %#04x", tc.name, tc.params, FromFP16(tc.in), got, tc.want)
		}
	}
}

func TestActivateRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		params []float64
	}{
		{"tan", nil}, {"clip", []float64{1}}, {"clip", []float64{2, 1}}, {"elu", []float64{math.NaN()}},
		{"leaky_relu", []float64{1e6}}, {"sigmoid_hard", []float64{0, 1}}, {"scaled_tanh", []float64{1, 0}},
	} {
		if a, err := Activate(tc.name, tc.params...); err == nil {
			t.Errorf("%s%v makes %v", tc.name, tc.params, a.Table)
		}
	}
	if _, err := Generate(Spec{F: math.Log, Mode: ModePlain, Step: 1}); err == nil {
		t.Error("a function that is not a number at its knots makes a table")
	}
	if _, err := Generate(Spec{F: math.Exp, Mode: 3}); err == nil {
		t.Error("an unknown mode makes a table")
	}
}

func TestHalves(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		if h&0x7fff > 0x7c00 {
			continue
		}
		v := FromFP16(h)
		if got := ToFP16(v); got != h {
			t.Fatalf("%#04x widens to %g, which narrows to %#04x", h, v, got)
		}
		if h&0x7fff >= 0x7bff {
			continue
		}
		// A tie goes to the even neighbour, anything past it to the nearer.
		mid := (v + FromFP16(h+1)) / 2
		if got, want := ToFP16(mid), h+h&1; got != want {
			t.Fatalf("tie %g above %#04x rounds to %#04x, want %#04x", mid, h, got, want)
		}
		if got := ToFP16(mid * (1 + 0x1p-40)); got != h+1 {
			t.Fatalf("just past the tie above %#04x rounds to %#04x", h, got)
		}
	}
}

// FuzzEval evaluates tables of arbitrary words: no table makes it panic, and the result is never negative zero.
func FuzzEval(f *testing.F) {
	for _, n := range []string{"sigmoid", "exp", "reciprocal", "rsqrt", "log"} {
		a, err := Activate(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(a.Table.Bytes(), uint16(0x3c00))
	}
	f.Fuzz(func(t *testing.T, b []byte, x uint16) {
		tab, err := parseTable(b)
		if err != nil {
			return
		}
		if y := tab.Eval(x); y == 0x8000 && tab[wordBelow] != y && tab[wordAbove] != y {
			t.Errorf("table %x gives -0 at %#x", b, x)
		}
	})
}

// parseTable reads a table back from the constant section.
func parseTable(b []byte) (*Table, error) {
	if len(b) < TableBytes {
		return nil, fmt.Errorf("weights: table of %d bytes, want %d", len(b), TableBytes)
	}
	t := new(Table)
	for i := range t {
		t[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return t, nil
}
