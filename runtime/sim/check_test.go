package sim_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/target"
)

// TestCheckRefusesAsLoadDoes breaks a pair before it is written: the checks of the unwritten pair return the errors
// with which the loaders reject its bytes.
func TestCheckRefusesAsLoadDoes(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(f *hwx.File, d *e5.Program)
		load   bool // the loader of containers refuses it too
	}{
		{"nothing", func(*hwx.File, *e5.Program) {}, false},
		{"another count of tasks", func(f *hwx.File, _ *e5.Program) {
			f.Procedures()[0].Program.Tasks++
		}, true},
		{"a register at nothing", func(f *hwx.File, _ *e5.Program) {
			f.Procedures()[0].Program.Bars[9] = 1 << 40
		}, true},
		{"a port that is missing", func(_ *hwx.File, d *e5.Program) {
			for i := range d.Functions[0].Operands {
				d.Functions[0].Operands[i].Port.Name += "x"
			}
		}, false},
		{"two functions of one name", func(_ *hwx.File, d *e5.Program) {
			d.Functions = append(d.Functions, d.Functions[0])
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irbuild.New(1)
			g.Output(g.Op("linear", "x", g.Input(3, 64), "weight", g.Weights(64, 64)))
			r, err := compile.All(t.Context(), g.Program(), compile.Options{Target: target.H13, SplitKernel: true})
			if err != nil {
				t.Fatal(err)
			}
			c.damage(r.HWX, r.E5)
			container, err := hwx.Encode(r.HWX)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(container)
			hash := hex.EncodeToString(sum[:])
			for _, b := range r.E5.Functions[0].Blocks {
				for _, op := range b.Operations {
					if a, ok := op.Attrs.(*e5.AneInferenceAttrs); ok {
						a.AneHash = hash
					}
				}
			}
			agree := func(what string, checked, loaded error) {
				if (checked == nil) != (loaded == nil) || checked != nil && checked.Error() != loaded.Error() {
					t.Errorf("%s: check gives %v, loading %v", what, checked, loaded)
				}
			}
			_, err = loader.Read(container)
			agree("container", loader.Check(r.HWX), err)
			if (err != nil) != c.load {
				t.Errorf("loader: %v", err)
			}
			checked := sim.Check(r.HWX, r.E5, hash)
			if (checked != nil) != (c.name != "nothing") {
				t.Errorf("pair: %v", checked)
			}
			if descriptor, e := e5.Bytes(r.E5); e == nil {
				_, err = sim.Open(pair.Pair{Container: container, Descriptor: descriptor})
				agree("pair", checked, err)
			}
		})
	}
}
