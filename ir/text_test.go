package ir

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

const sample = `program "1.3"
file "a b.mil"
build "k" "v\""

func %main "ios18"(%x: tensor<fp16, [1, 4, ?, 8]> @0:4:21, %k: state<tensor<fp16, [2]>>) @0:3:1 {
  flex default "x" [1, 4, 8, 8]
  flex range "x" [1, 1, 4, 4, 1, -1, 8, 8]
  flex enum { "x" [1, 4, 8, 8] }
  const %w: tensor<fp16, [8, 4, 1, 1]> = [0x1p+00, -inf, 0x0p+00, 0x1p-24, 0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, ` +
	`0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, ` +
	`0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, 0x0p+00, -0x0p+00] ` +
	`from "weights/weight.bin@64" @0:5:1
  const %pt: tensor<string, []> = ["same"]
  const %ax: tensor<int32, []> = [-3]
  const %f32: tensor<string, []> = ["fp32"]
  %y: tensor<fp16, [1, 8, ?, 8]> @0:7:4 = conv<ios17>(x = %x, weight = %w, pad_type = %pt) name "y" on engine ` +
	`"conv" "" @0:7:5
  %"a b": tensor<fp16, [1, 12, ?, 8]> = concat(values = (%y, %x), axis = %ax)
  %s: tensor<fp16, [2]> = read_state(input = %k)
  %h: tensor<fp32, [2]> = cast(x = %s, dtype = %f32) on transfer "cast" ""
  do write_state(input = %k, data = %s) on cpu "state" "no \"state\" on the engine"
  return %"a b", %s
}
`

func TestTextIsParsedBack(t *testing.T) {
	src := sample
	p, err := Parse("t", []byte(src), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(p); err != nil {
		t.Error(err)
	}
	var b bytes.Buffer
	if err := Print(&b, p); err != nil {
		t.Fatal(err)
	}
	if b.String() != src {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), src)
	}
}

// FuzzPlaceRoundTrip prints an operation placed on each unit and parses it.
func FuzzPlaceRoundTrip(f *testing.F) {
	for n := range int(numUnits) {
		f.Add(strings.Repeat("r", n), "")
	}
	f.Add("state", "no \"state\" on the engine\n")
	f.Fuzz(func(t *testing.T, rule, reason string) {
		u := Unit(len(rule)) % numUnits // all in one execution take too long
		p, err := Parse("t", []byte(sample), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range p.Funcs[0].Body.Ops {
			op.Place = Place{Unit: u, Rule: rule, Reason: reason}
		}
		var b bytes.Buffer
		if err := Print(&b, p); err != nil {
			t.Fatal(err)
		}
		q, err := Parse("again", b.Bytes(), nil)
		if err != nil || !Equal(p, q) {
			t.Fatalf("%s: %v\n%s", u, err, b.String())
		}
		if got := q.Funcs[0].Body.Ops[0].Place; got != (Place{Unit: u, Rule: rule, Reason: reason}) {
			t.Fatalf("parsed place %+v of unit %s", got, u)
		}
	})
}

// TestInPlaceIsOfOperationsThatChangeAPart prints and parses an operation in place, and refuses another one.
func TestInPlaceIsOfOperationsThatChangeAPart(t *testing.T) {
	const text = `program "1.3"

func %main "ios18"(%x: tensor<fp16, [4]>, %u: tensor<fp16, [1]>, %b: tensor<int32, [1]>) {
  %y: tensor<fp16, [4]> = slice_update<ios18>(x = %x, update = %u, begin = %b, end = %b) on cpu "" "no rule" in place
  return %y
}
`
	p, err := Parse("t", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Print(&b, p); err != nil || b.String() != text {
		t.Errorf("%v\n%s", err, b.String())
	}
	_, err = Parse("t", []byte(strings.Replace(text, "slice_update<ios18>(x = %x, update = %u, begin = %b, end = %b)",
		"relu(x = %x)", 1)), nil)
	if err == nil || !strings.Contains(err.Error(), "relu changes no part of an operand") {
		t.Errorf("relu in place: %v", err)
	}
}

// TestPrintLinesSaysWhatLinesShow prints a function with blocks: the lines are as from Print without positions.
func TestPrintLinesSaysWhatLinesShow(t *testing.T) {
	const want = `func %main "ios18"(%c: tensor<bool, []>, %x: tensor<fp16, [2]>) {
  const %two: tensor<fp16, [1]> = [0x1p+01]
  %y: tensor<fp16, [2]> = cond(pred = %c) block () {
    %d: tensor<fp16, [2]> = mul(x = %x, y = %two)
    return %d
  } block () {
    return %x
  }
  return %y
}
`
	placed := strings.NewReplacer("= mul", "@0:3:4 = mul", "%two)", "%two) @0:3:1", ") {\n  const",
		") @0:1:1 {\n  flex default \"x\" [2]\n  const").Replace(want)
	p, err := Parse("t", []byte("program \"1.3\"\nfile \"a.mil\"\n\n"+placed), nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines, shown []string
	PrintLines(p.Funcs[0], nil, func(shows any, text []byte) {
		lines = append(lines, string(text))
		shown = append(shown, strings.TrimPrefix(fmt.Sprintf("%T", shows), "*ir."))
	})
	whole := strings.Replace(want, "  const", "  flex default \"x\" [2]\n  const", 1)
	if got := strings.Join(lines, "\n") + "\n"; got != whole {
		t.Errorf("lines\n%swant\n%s", got, whole)
	}
	const kinds = "Func <nil> Value Op Op Block <nil> Block <nil> Block <nil>"
	if got := strings.Join(shown, " "); got != kinds {
		t.Errorf("the lines show %s, want %s", got, kinds)
	}
}
