// Package conformance reads the conformance cases of the shared test material: programs,
// inputs and expected values of coremltools' own tests of its operations.
package conformance

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// A Case is the content of a case.json.
type Case struct {
	Dir        string `json:"-"`
	Inputs     []struct{ Name, DType string }
	Outputs    []struct{ Name, DType, Check string }
	Iterations int  // predictions of a model with states
	Assumed    bool `json:"assumed_syntax"`
	Doubtful   any  // false, or a string that says what is doubtful
	Tolerance  struct{ Atol, Rtol float64 }
}

// Dirs returns the folders of all cases, or skips the test.
func Dirs(t testing.TB) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(shareddir.Find(t), "conformance", "cases", "*"))
	if err != nil || len(dirs) == 0 {
		t.Skip("the shared folder has no conformance cases")
	}
	return dirs
}

// Read reads the case of a folder.
func Read(dir string) (*Case, error) {
	c := &Case{Dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, "case.json"))
	if err != nil {
		return nil, err
	}
	return c, json.Unmarshal(text, c)
}

// Trusted reports whether the text and the values of the case are known to be correct.
func (c *Case) Trusted() bool {
	why, _ := c.Doubtful.(string)
	return !c.Assumed && why == "" && c.Doubtful != true
}

// Input reads the values of the inputs.
func (c *Case) Input() (map[string]interp.Tensor, error) {
	in := map[string]interp.Tensor{}
	for _, p := range c.Inputs {
		t, err := c.tensor("in_"+p.Name+".npy", p.DType)
		if err != nil {
			return nil, err
		}
		in[p.Name] = t
	}
	return in, nil
}

// Compare compares the outputs of a prediction, counted from 0, with the expected ones as far
// as the case checks them: integers and booleans exactly, floats within atol + rtol |want| of
// the tolerance for the expected tensor. A NaN matches only a NaN.
func (c *Case) Compare(prediction int, got map[string]interp.Tensor,
	tolerance func(want interp.Tensor) (atol, rtol float64)) error {
	prefix := ""
	if prediction > 0 {
		prefix = fmt.Sprintf("iter%d_", prediction)
	}
	for _, o := range c.Outputs {
		x, ok := got[o.Name]
		if !ok {
			return fmt.Errorf("prediction %d: missing output %s", prediction, o.Name)
		}
		if x.Type.DType.String() != o.DType {
			return fmt.Errorf("prediction %d: output %s is %s, want elements of %s", prediction, o.Name, x.Type,
				o.DType)
		}
		if o.Check == "none" {
			continue
		}
		want, err := c.tensor(prefix+"out_"+o.Name+".npy", o.DType)
		if err != nil {
			return err
		}
		if !x.Type.Equal(want.Type) {
			return fmt.Errorf("prediction %d: output %s is %s, want %s", prediction, o.Name, x.Type, want.Type)
		}
		if o.Check == "shape" {
			continue
		}
		atol, rtol := tolerance(want)
		if err := compare(x, want, atol, rtol); err != nil {
			return fmt.Errorf("prediction %d: output %s: %w", prediction, o.Name, err)
		}
	}
	return nil
}

// Stated is the tolerance that the case states.
func (c *Case) Stated(interp.Tensor) (atol, rtol float64) { return c.Tolerance.Atol, c.Tolerance.Rtol }

func compare(got, want interp.Tensor, atol, rtol float64) error {
	if !want.Type.DType.IsFloat() {
		if !got.Equal(want) {
			return fmt.Errorf("%v, want %v", got.Ints(), want.Ints())
		}
		return nil
	}
	gs, ws := got.Const().Floats(), want.Const().Floats()
	for i, w := range ws {
		g := gs[i]
		if g == w || g != g && w != w {
			continue
		}
		if math.IsInf(g, 0) || math.IsInf(w, 0) || !(math.Abs(g-w) <= atol+rtol*math.Abs(w)) {
			return fmt.Errorf("element %d of %d is %v, want %v", i, len(ws), g, w)
		}
	}
	return nil
}

// tensor reads an array of the case, which must have elements of a type.
func (c *Case) tensor(name, dtype string) (interp.Tensor, error) {
	file := filepath.Join(c.Dir, name)
	b, err := os.ReadFile(file)
	if err != nil {
		return interp.Tensor{}, err
	}
	a, err := npy.Decode(b)
	if err != nil {
		return interp.Tensor{}, fmt.Errorf("%s: %w", file, err)
	}
	d, ok := ir.ParseDType(dtype)
	if !ok || npy.Size(a.Type)*8 != max(8, d.Bits()) {
		return interp.Tensor{}, fmt.Errorf("%s contains %s, want %s", file, a.Type, dtype)
	}
	return interp.NewTensor(ir.TensorOf(d, a.Shape...), a.Data)
}
