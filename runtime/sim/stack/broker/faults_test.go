package broker

import (
	"bytes"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
)

// TestFaultsBelowTheBroker injects every kind of fault below the broker while two clients work: each evaluation fails
// or is right, and after the faults everything works, and nothing is left when the clients are gone.
func TestFaultsBelowTheBroker(t *testing.T) {
	cs := [][]byte{container(t, 8, 1), container(t, 8, 2)}
	var want [2][]byte
	clean, _ := machine(t, nil)
	for i, c := range cs {
		s := connect(t, clean, caller(i+1, "A"))
		want[i] = run(t, s, instantiate(t, s, InstanceRequest{Model: load(t, s, LoadRequest{Container: c}).Model}), 1)
	}
	for _, row := range inject.Kinds {
		t.Run(row.Name, func(t *testing.T) {
			for seed := range uint64(4) {
				spec, err := inject.Parse(row.Name + ":after=12,every=7,count=5")
				if err != nil {
					t.Fatal(err)
				}
				b, _ := machineOf(t, driver.Config{
					Workers: 1,
					Inject:  inject.New(spec, seed),
				}, func(c *Config) { c.Limits.WiredBytes = 1 << 17 })
				failed, right := 0, 0
				var ss [2]*Session
				var ins [2]*InstanceReply
				for i := range ss {
					ss[i] = connect(t, b, caller(i+1, string(rune('A'+i))))
				}
				for step := 0; step < 200 && right < 40; step++ {
					i := step % 2
					if ins[i] == nil {
						m, err := ss[i].Load(t.Context(), LoadRequest{Container: cs[i]})
						if err != nil {
							failed++
							continue
						}
						in, err := ss[i].CreateInstance(t.Context(), InstanceRequest{Model: m.Model})
						if err != nil {
							failed++
							ss[i].Unload(t.Context(), UnloadRequest{Model: m.Model})
							continue
						}
						ins[i] = in
					}
					p := ins[i].Procedures[0]
					surfaces := halves(p, 1)
					err := ss[i].Evaluate(t.Context(), EvaluateRequest{Instance: ins[i].Instance, Surfaces: surfaces})
					switch {
					case err != nil:
						failed++
						if e, ok := err.(*Error); !ok || e.Return == 0 {
							t.Errorf("seed %d: error %#v", seed, err)
						}
					case !bytes.Equal(output(p, surfaces), want[i]):
						t.Fatalf("seed %d, step %d: a wrong result without an error", seed, step)
					default:
						right++
					}
				}
				t.Logf("seed %d: %d right, %d failed", seed, right, failed)
				if right < 40 || failed > 40 {
					t.Errorf("seed %d: %d evaluations were right and %d calls failed; there were 5 faults", seed, right,
						failed)
				}
			}
		})
	}
}
