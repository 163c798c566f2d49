package driver

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// TestReplaysHaveTheSameTrace runs the same calls twice under the same faults: the traces, bytes at the boundaries
// included, are the same.
func TestReplaysHaveTheSameTrace(t *testing.T) {
	for _, k := range inject.Kinds {
		for _, site := range k.Sites {
			spec := fmt.Sprintf("%s@%s:after=3,every=5,count=3", k.Name, site)
			t.Run(spec, func(t *testing.T) {
				if a, b := traced(t, spec), traced(t, spec); !bytes.Equal(a, b) {
					t.Error("two runs differ")
				} else if len(a) < 10000 {
					t.Errorf("a trace of %d bytes", len(a))
				}
			})
		}
	}
}

func traced(t *testing.T, spec string) []byte {
	t.Helper()
	rec := &trace.Recording{MaxData: 4096}
	d := newDevice(t, Config{Trace: rec.Tracer(), Inject: injector(t, spec, 11)})
	task := broker(1)
	for range 3 {
		s, err := d.OpenServices(task)
		if err != nil {
			continue
		}
		if h, err := s.ProgramCreate(adder(t)); err == nil {
			info, err := s.Prepare(h, PrepareOptions{})
			if err != nil {
				info, _ = s.Prepare(h, PrepareOptions{})
			}
			m := bound(t, s, h, info, adder(t))
			for i := range 6 {
				m.fill(uint64(i))
				_, _ = s.SendRequest(&m.req)
			}
			if c, err := s.ChainingPrepare(h, 0); err == nil {
				if x, err := d.OpenDirect(task); err == nil {
					for range 3 {
						_ = x.OutputSetEnqueue(c, m.req.Outputs)
						_ = x.InputsReady(c, []ReadyBuffer{{Surface: m.req.Inputs[0], Size: uint64(len(m.bufs[0]))}}, 0)
					}
					_ = x.Close()
				}
			}
		}
		_ = s.Close()
	}
	var out bytes.Buffer
	if err := trace.WriteText(&out, rec.Events, true); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
