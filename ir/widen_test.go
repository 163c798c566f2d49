package ir

import (
	"bytes"
	"strings"
	"testing"
)

// TestWidenedFunctionsComputeInFP32 widens a function with constants, among them an output, a type, and blocks.
func TestWidenedFunctionsComputeInFP32(t *testing.T) {
	const text = `program "1.3"

func %main "ios18"(%c: tensor<bool, []>, %x: tensor<fp16, [2]>) {
  const %type: tensor<string, []> = ["fp16"]
  const %k: tensor<fp16, [2]> = [0x1.8p+00, 0x1.ffcp+15]
  %h: tensor<fp16, [2]> = cast<ios17>(x = %x, dtype = %type)
  %y: tensor<fp16, [2]> = cond(pred = %c) block () {
    %d: tensor<fp16, [2]> = mul(x = %h, y = %k)
    return %d
  } block () {
    return %k
  }
  return %y, %k
}
`
	p, err := Parse("t", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	wide, of := Widen(p.Funcs[0])
	if of[p.Funcs[0].Body.Params[1]] != wide.Body.Params[1] || of[p.Funcs[0].Body.Outputs[0]] != wide.Body.Outputs[0] {
		t.Error("values are not represented by those of the copy")
	}
	for _, f := range []struct {
		fn   *Func
		want string
	}{{wide, strings.ReplaceAll(text, "fp16", "fp32")}, {p.Funcs[0], text}} {
		p.Funcs[0] = f.fn
		var b bytes.Buffer
		if err := Verify(p); err != nil {
			t.Error(err)
		}
		if err := Print(&b, p); err != nil || b.String() != f.want {
			t.Errorf("%v\n%s\nwant\n%s", err, b.String(), f.want)
		}
	}
}
