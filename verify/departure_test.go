package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/ir/irbuild"
	"github.com/zinc-compiler/zinc/lower/td"
)

// TestNoDeparture runs real models step by step: where the outputs agree, so do
// the values on the way.
func TestNoDeparture(t *testing.T) {
	shared := shareddir.Find(t)
	for _, name := range []string{"silero-v6-fp16", "silero-v6-int8", "parakeet-eou-joint", "espresso-sdpa-fwd-taps",
		"parakeet-eou-encoder-1280ms"} {
		t.Run(name, func(t *testing.T) {
			m, err := frontend.Open(shareddir.WithWeights(t, shared, filepath.Join(shared, "corpus", name)),
				frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			d, err := FirstDeparture(t.Context(), m.Program, Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			if d.First != nil {
				t.Errorf("%+v", *d.First)
			}
			if d.Compared < d.Tasks/8 || d.Unknown > d.Compared/4 {
				t.Errorf("of %d tasks %d values were compared and %d not", d.Tasks, d.Compared, d.Unknown)
			}
		})
	}
}

// chain is a program of several products and sums.
func chain(t *testing.T) *ir.Program {
	t.Helper()
	g := irbuild.New(7)
	x := g.Input(1, 16, 8, 8)
	a := g.Op("conv", "x", x, "weight", g.Weights(16, 16, 1, 1))
	b := g.Op("relu", "x", a)
	c := g.Op("conv", "x", b, "weight", g.Weights(32, 16, 3, 3), "pad_type", "same")
	d := g.Op("sigmoid", "x", c)
	e := g.Op("mul", "x", c, "y", d)
	g.Output(g.Op("reduce_mean", "x", e, "axes", []int{2, 3}, "keep_dims", true))
	return g.Program()
}

// TestFirstDeparture changes one task in the bytes of a container and looks for
// its name.
func TestFirstDeparture(t *testing.T) {
	p := chain(t)
	r, err := compile.Compile(t.Context(), p, compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	container, descriptor, err := Pair(r)
	if err != nil {
		t.Fatal(err)
	}
	proc := r.Functions[0].Procedures[0]
	if proc.Resident == 0 || len(proc.Held) < len(proc.Tasks) {
		t.Fatalf("%d tasks, %d values, %d of them in L2: the test needs all kinds of places", len(proc.Tasks),
			len(proc.Held), proc.Resident)
	}
	o := Options{Seed: 3}
	d, err := departures(t.Context(), r, container, descriptor, o)
	if err != nil || d.First != nil || d.Compared < 4 {
		t.Fatalf("as compiled: %+v, %v", d, err)
	}
	text, _, err := td.EncodeChain(proc.Tasks, 0)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(container, text)
	if at < 0 {
		t.Fatal("the tasks are not in the container")
	}
	sum := sha256.Sum256(container)
	found := 0
	for i := range proc.Tasks {
		// The products of this task come out twice as large, or what the planar engine
		// passes on does.
		field := td.PostScale
		if proc.Tasks[i].Get(td.PlanarType) != 0 {
			field = td.PEPreScale
		}
		old := proc.Tasks[i].Get(field)
		if old != 0x3c00 {
			continue
		}
		proc.Tasks[i].Set(field, 0x4000)
		changed, _, err := td.EncodeChain(proc.Tasks, 0)
		proc.Tasks[i].Set(field, int(old))
		if err != nil || len(changed) != len(text) {
			t.Fatalf("task %d: %v", i, err)
		}
		bad := bytes.Clone(container)
		copy(bad[at:], changed)
		now := sha256.Sum256(bad)
		desc := bytes.ReplaceAll(descriptor, []byte(hex.EncodeToString(sum[:])), []byte(hex.EncodeToString(now[:])))
		d, err := departures(t.Context(), r, bad, desc, o)
		if err != nil {
			t.Fatal(err)
		}
		if d.First == nil {
			t.Logf("task %d (%s): twice as much changes nothing within the tolerance", i, proc.Infos[i].Rule)
			continue
		}
		t.Logf("task %d (%s): %+v", i, proc.Infos[i].Rule, *d.First)
		if d.First.Task < i {
			t.Errorf("task %d is wrong, the first departure is named at task %d", i, d.First.Task)
		}
		if d.First.Task == i {
			found++
		}
	}
	if found < len(proc.Tasks)/2 {
		t.Errorf("%d of %d wrong tasks were named", found, len(proc.Tasks))
	}
}
