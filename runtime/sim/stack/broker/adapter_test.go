package broker

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
)

// section is a container's constants as one weight file.
func section(t testing.TB, container []byte) Files {
	t.Helper()
	f, err := hwx.Read(container)
	if err != nil {
		t.Fatal(err)
	}
	c := f.ConstantSections()
	if len(c) != 1 {
		t.Fatalf("%d sections of constants", len(c))
	}
	return Files{{Name: c[0].Name.String(), Data: f.ConstantBytes()}}
}

func text(t testing.TB, container []byte) []byte {
	t.Helper()
	f, err := hwx.Read(container)
	if err != nil {
		t.Fatal(err)
	}
	return f.TextBytes()
}

// TestAdaptersShareTheBase creates two adapters of a base: each computes with its own coefficients and the base's
// tasks, and the base is loaded once.
func TestAdaptersShareTheBase(t *testing.T) {
	b, k := room(t, nil)
	base, one, two := container(t, 8, 1), container(t, 8, 2), container(t, 8, 3)
	owner := connect(t, b, caller(1, "A", KeyModelShare))
	m := load(t, owner, LoadRequest{Container: base, Identifier: "llm", Share: true})
	plain := instantiate(t, owner, InstanceRequest{Model: m.Model})
	user := connect(t, b, caller(2, "A", KeyAdapterWeight))
	var made []*InstanceReply
	for _, c := range [][]byte{one, two} {
		in, err := user.CreateInstanceWithWeights(t.Context(), WeightsRequest{
			Base:            "llm",
			WeightFileCount: 1,
			WeightFiles:     section(t, c),
		})
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, in)
	}
	bases := 0
	for _, r := range b.Residents() {
		if !r.Adapter {
			bases++
		}
	}
	if bases != 1 {
		t.Errorf("%d base programs are resident, wanted 1", bases)
	}
	for _, p := range k.programs {
		if !bytes.Equal(text(t, p.container), text(t, base)) {
			t.Error("the tasks of an instance are not the base's")
		}
	}
	// The programs compiled from these weights are another oracle: the tasks of all three are the same bytes, and so
	// are their results.
	if !bytes.Equal(text(t, one), text(t, base)) {
		t.Fatal("the models were to differ in weights alone")
	}
	evaluate(t, owner, plain, base, 5)
	evaluate(t, user, made[0], one, 5)
	evaluate(t, user, made[1], two, 5)
	evaluate(t, owner, plain, base, 5)

	// The base stays while an adapter uses it, even after its owner has closed.
	owner.Close()
	evaluate(t, user, made[0], one, 6)
	if n := len(b.Residents()); n != 3 {
		t.Errorf("%d resident programs after the owner has gone, wanted the base and two adapters", n)
	}
	_, err := user.CreateInstanceWithWeights(t.Context(), WeightsRequest{
		Base:            "llm",
		WeightFileCount: 1,
		WeightFiles:     section(t, one),
	})
	refused(t, err, NotFound) // the name went with the load that gave it
	for _, in := range made {
		if err := user.ReleaseInstance(t.Context(), ReleaseRequest{Instance: in.Instance}); err != nil {
			t.Error(err)
		}
	}
	if n := len(b.Residents()); n != 0 {
		t.Errorf("%d resident programs are left", n)
	}
}

// TestAdapterFilesMustFitTheBase also replaces single kernels.
func TestAdapterFilesMustFitTheBase(t *testing.T) {
	base, other := container(t, 8, 1), container(t, 8, 2)
	sizes, err := coefficientSizes(base)
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(sizes))
	whole := section(t, other)[0]
	if sizes[whole.Name] != int64(len(whole.Data)) {
		t.Errorf("%s: %d bytes, wanted %d", whole.Name, sizes[whole.Name], len(whole.Data))
	}
	kernels := 0
	for _, n := range names {
		if n == whole.Name {
			continue
		}
		kernels++
		out, err := Adapt(base, Files{{Name: n, Data: bytes.Repeat([]byte{0x3c}, int(sizes[n]))}})
		if err != nil {
			t.Fatal(err)
		}
		changed := 0
		for i := range out {
			if out[i] != base[i] {
				changed++
			}
		}
		if changed == 0 || int64(changed) > sizes[n] {
			t.Errorf("kernel %s of %d bytes: %d bytes changed", n, sizes[n], changed)
		}
		if !bytes.Equal(text(t, out), text(t, base)) {
			t.Errorf("kernel %s: the tasks changed", n)
		}
		if _, err := Adapt(base, Files{whole, {Name: n, Data: make([]byte, sizes[n])}}); err == nil {
			t.Errorf("kernel %s and the whole section were both replaced", n)
		}
	}
	if kernels == 0 {
		t.Error("the base has no kernels to name")
	}
	if out, err := Adapt(base, Files{whole}); err != nil || !bytes.Equal(out[:len(base)], out) ||
		bytes.Equal(out, base) {
		t.Errorf("the whole section: %v", err)
	}

	b, _ := room(t, nil)
	s := connect(t, b, caller(1, "A", KeyAdapterWeight))
	load(t, s, LoadRequest{Container: base, Identifier: "base"})
	short := File{Name: whole.Name, Data: whole.Data[1:]}
	long := File{Name: whole.Name, Data: append(slices.Clone(whole.Data), 0)}
	for _, c := range []struct {
		name  string
		base  string
		count int
		files Files
		code  Code
	}{
		{name: "no files", base: "base", count: 0, code: BadArgument},
		{name: "a wrong count", base: "base", count: 2, files: Files{whole}, code: BadArgument},
		{name: "another base", base: "bass", count: 1, files: Files{whole}, code: NotFound},
		{name: "no base", count: 1, files: Files{whole}, code: NotFound},
		{name: "no such coefficients", base: "base", count: 1, files: Files{{Name: "x", Data: whole.Data}},
			code: BadArgument},
		{name: "too short", base: "base", count: 1, files: Files{short}, code: BadArgument},
		{name: "too long", base: "base", count: 1, files: Files{long}, code: BadArgument},
		{name: "twice", base: "base", count: 2, files: Files{whole, whole}, code: BadArgument},
	} {
		_, err := s.CreateInstanceWithWeights(t.Context(), WeightsRequest{
			Base:            c.base,
			WeightFileCount: c.count,
			WeightFiles:     c.files,
		})
		if !isCode(err, c.code) {
			t.Errorf("%s: %v, wanted %v", c.name, err, c.code)
		}
	}
	if n := len(b.Residents()); n != 1 {
		t.Errorf("%d resident programs after refusals, wanted the base", n)
	}
	stranger := connect(t, b, caller(2, "B", KeyAdapterWeight))
	_, err = stranger.CreateInstanceWithWeights(t.Context(), WeightsRequest{
		Base:            "base",
		WeightFileCount: 1,
		WeightFiles:     Files{whole},
	})
	refused(t, err, NotFound)
}

// coefficientSizes lists what an adapter may replace in a base, with sizes in bytes: under the name of a section of
// constants the whole section; under the name of a kernel (as in its symbols, without the lane) its tiles, lane after
// lane, each up to the next tile. Errors come from hwx.Read.
func coefficientSizes(container []byte) (map[string]int64, error) {
	parts, err := coefficients(container)
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for name, es := range parts {
		for _, e := range es {
			sizes[name] += e.size
		}
	}
	return sizes, nil
}
