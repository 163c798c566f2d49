package stack_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// seeds is how many seeds each fault is made with.
const seeds = 200

// TestEveryFaultIsSurvived injects every fault at each of its sites: the caller gets an error or a correct result, the
// next dispatch works, the restart count equals the number of boots in the trace, and nothing leaks.
func TestEveryFaultIsSurvived(t *testing.T) {
	everyFault(t, compiled(t, "e5rt/testdata/tiny.mil"), seeds)
}

// TestEveryFaultInAChainIsSurvived does the same with several procedures in one submission.
func TestEveryFaultInAChainIsSurvived(t *testing.T) {
	p, _ := chained(t, 40)
	everyFault(t, p, seeds/4)
}

// everyFault injects every fault with a number of seeds.
func everyFault(t *testing.T, p pair.Pair, n uint64) {
	direct, err := sim.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	in := inputs(t, direct, 1)
	want, err := direct.Run(context.Background(), in, sim.Options{Numerics: numerics.ANE})
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		n = 10
	}
	for _, k := range inject.Kinds {
		for _, site := range k.Sites {
			t.Run(k.Name+"@"+site.String(), func(t *testing.T) {
				made, failed := uint64(0), 0
				for seed := range n {
					m, errs := fault(t, p, in, want, fmt.Sprintf("%s@%s:after=%d,p=0.2,count=2", k.Name, site,
						seed*7%50), seed)
					made += m
					failed += errs
				}
				t.Logf("%d faults made, %d calls failed", made, failed)
				if made == 0 {
					t.Errorf("no fault was made in %d seeds", n)
				}
			})
		}
	}
}

// fault makes runs on a machine with faults until no more faults occur, and then one more.
func fault(t *testing.T, compiled pair.Pair, in, want map[string]interp.Tensor, spec string, seed uint64) (made uint64,
	failed int) {
	t.Helper()
	ctx := context.Background()
	s, err := inject.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	inj := inject.New(s, seed)
	events := &trace.Recording{MaxData: 1}
	machine, err := stack.New(stack.Options{Inject: inj, Workers: 1, Trace: events.Tracer()})
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("--inject %q --inject-seed %d: %s", spec, seed, fmt.Sprintf(format, args...))
	}
	// Another client keeps the device powered, so that its pools can be looked at.
	keeper, err := machine.Device.OpenServices(&driver.Task{PID: 1, Entitlements: []string{driver.UserAccess}})
	for ; err != nil && inj.Made(s[0].Kind) > 0 && failed < 8; failed++ {
		keeper, err = machine.Device.OpenServices(&driver.Task{PID: 1, Entitlements: []string{driver.UserAccess}})
	}
	if err != nil {
		fail("opening the device: %v", err)
		return
	}
	defer keeper.Close()
	full, frames := machine.Device.Coprocessor().Pools(), machine.Device.Unit().Stats().FramesInUse
	p, err := machine.Connect(stack.Application(501), 0)
	if err != nil {
		fail("connecting: %v", err)
		return
	}
	const runs = 6
	loaded, err := sim.Open(compiled)
	if err != nil {
		fail("opening the pair: %v", err)
		return
	}
	var m *stack.Model
	last := error(nil)
	for i := 0; i < runs || inj.Made(s[0].Kind) < s[0].Count && i < 4*runs; i++ {
		if m == nil {
			if m, err = p.Load(ctx, loaded); err != nil {
				m, last = nil, err
				failed++
				continue
			}
		}
		got, err := m.Run(ctx, in)
		if last = err; err != nil {
			failed++
			continue
		}
		equal(t, fmt.Sprintf("--inject %q --inject-seed %d: outputs", spec, seed), got, want)
	}
	// With all faults made the next dispatch must work.
	if made = inj.Made(s[0].Kind); made == s[0].Count || last != nil {
		if m == nil {
			fail("the model cannot be loaded: %v", last)
			return
		}
		for made < s[0].Count && last != nil { // faults may still have come
			if _, last = m.Run(ctx, in); inj.Made(s[0].Kind) == made {
				break
			}
			made = inj.Made(s[0].Kind)
		}
		got, err := m.Run(ctx, in)
		if err != nil && inj.Made(s[0].Kind) == made {
			fail("the dispatch after the last fault: %v", err)
			return
		}
		if err == nil {
			equal(t, "the dispatch after the last fault: outputs", got, want)
		}
	}
	begun, limited := 0, 0
	for _, e := range events.Events {
		switch {
		case e.Layer != trace.Driver:
		case e.Name == "cancel outstanding commands":
			begun++
		case strings.HasPrefix(e.Name, "recovery is rate-limited"):
			limited++
		}
	}
	if n := machine.Device.Recoveries(); n != begun-limited {
		fail("%d recoveries, the trace has %d of which %d had to wait", n, begun, limited)
	}
	if k := s[0].Kind; (k == inject.Exception || k == inject.Crash) && (s[0].Site == inject.Step ||
		s[0].Site == inject.Task) {
		if n := machine.Device.Coprocessor().RestartCount(); uint64(n) != made {
			fail("the firmware was restarted %d times for %d faults", n, made)
		}
	}
	if m != nil {
		if err := m.Close(); err != nil {
			fail("closing the model: %v", err)
		}
	}
	if pools := machine.Device.Coprocessor().Pools(); pools != nil && !slices.Equal(pools, full) {
		fail("pools are %v, want %v", pools, full)
	}
	if n := machine.Device.Unit().Stats().FramesInUse; n != frames {
		fail("%d frames are in use, %d were before the model came", n, frames)
	}
	return made, failed
}
