package irmodels_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/internal/test/irmodels"
	"github.com/zinc-compiler/zinc/ir"
)

// TestModelsAreValidAndRepeatable verifies each model, looks for the operations and shapes that it is for, and writes
// it twice.
func TestModelsAreValidAndRepeatable(t *testing.T) {
	for _, c := range []struct {
		model string
		ops   []string
		types map[string]string // of values
	}{
		{
			model: "unet",
			ops:   []string{"concat", "conv", "conv_transpose", "max_pool", "relu", "reshape", "sigmoid"},
			types: map[string]string{"bottomb": "tensor<fp16, [1, 128, 16, 16]>",
				"mask": "tensor<fp16, [1, 1, 65536]>"},
		},
		{
			model: "yolo",
			ops: []string{"add", "cast", "concat", "conv", "max_pool", "mul", "reshape", "sigmoid", "silu",
				"slice_by_size", "softmax", "sub", "transpose", "upsample_nearest_neighbor"},
			types: map[string]string{"bin_shares": "tensor<fp32, [1, 16, 4, 8400]>",
				"boxes": "tensor<fp32, [1, 84, 8400]>"},
		},
	} {
		t.Run(c.model, func(t *testing.T) {
			m := irmodels.Find(c.model)
			p := m.Program()
			if err := ir.Verify(p); err != nil {
				t.Fatal(err)
			}
			var ops []string
			types := map[string]string{}
			for _, op := range p.Funcs[0].Body.Ops {
				ops = append(ops, op.Def.Name)
				types[op.Results[0].Name] = op.Results[0].Type.String()
			}
			slices.Sort(ops)
			if ops = slices.Compact(ops); !slices.Equal(ops, c.ops) {
				t.Errorf("operations are %v, want %v", ops, c.ops)
			}
			for name, want := range c.types {
				if types[name] != want {
					t.Errorf("%s is %s, want %s", name, types[name], want)
				}
			}
			if !bytes.Equal(written(t, p), written(t, m.Program())) {
				t.Error("the second model differs from the first")
			}
		})
	}
}

// TestFindReturnsNilForUnknownNames also checks that models are found by their own names.
func TestFindReturnsNilForUnknownNames(t *testing.T) {
	if m := irmodels.Find("resnet"); m != nil {
		t.Errorf("found %s", m.Name)
	}
	for i := range irmodels.Models {
		if m := &irmodels.Models[i]; irmodels.Find(m.Name) != m {
			t.Errorf("%s is not found", m.Name)
		}
	}
}

// written returns the text and the weight file of a program.
func written(t *testing.T, p *ir.Program) []byte {
	t.Helper()
	text, err := unbuild.Program(p, "weight.bin")
	if err != nil {
		t.Fatal(err)
	}
	b := bytes.NewBuffer(text.MIL)
	if err := text.WriteWeights(b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
