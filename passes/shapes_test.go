package passes_test

import (
	"testing"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/build"
	"github.com/zinc-compiler/zinc/passes"
)

// TestDefaultShapeOfAnotherRank checks a squeeze without axes that would drop a dimension which is 1 only by default,
// and which its declared result has. The shapes stay as declared.
func TestDefaultShapeOfAnotherRank(t *testing.T) {
	tree, list := mil.Parse("m.mil", []byte(`program(1.3)
{
	func main<ios18>(tensor<fp16, [?, 48]> x) [FlexibleShapeInformation = tuple<tuple<string,
		dict<string, tensor<int32, [?]>>>>((("DefaultShapes", {{"x", [1, 48]}})))] {
			tensor<fp16, [?, 48]> y = squeeze(x = x);
		} -> (y);
}`))
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	p, list := build.Program(tree, nil, build.Options{})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	s, err := passes.Run(t.Context(), p, passes.Options{Until: "resolve-shapes", VerifyEach: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Func.Body.Params[0].Type.String(); got != "tensor<fp16, [?, 48]>" {
		t.Errorf("the input is %s", got)
	}
}
