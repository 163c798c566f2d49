package driver

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/target"
)

// corpus contains real models whose weights are available, with one procedure and with several.
var corpus = []string{
	"DTLN_AEC_128_Part1.mlpackage", "coremlrs-test-linear", "coremltools-add", "espresso-full-fused",
	"espresso-fused-ffn",
	"espresso-fused-qkv", "espresso-matmul", "espresso-sdpa-bwd2", "fluid-argmax", "fluid-token-duration",
	"mnist-cnn-inline",
	"rb-flexible-gather", "rb-multifunction-flexible", "rb-neg-scalar", "rb-pipeline-dynamic-relu",
	"silero-v6-256ms-fp16",
	"silero-v6-fp16", "silero-v6-int8", "silero-v6-palette-2bit", "silero-v6-palette-4bit", "silero-v6-pruned-int8",
	"silero-vad-unified-v6.0.0.mlpackage",
}

// TestRealContainersRunThroughTheDriver runs every procedure of real containers through the driver: the outputs equal
// the outputs of the engine alone, bit for bit.
func TestRealContainersRunThroughTheDriver(t *testing.T) {
	dir := shareddir.Find(t)
	paths, err := filepath.Glob(filepath.Join(dir, "golden", "apple-h13", "*.hwx"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden containers: %v", err)
	}
	d := newDevice(t, Config{Workers: 2})
	s := open(t, d, broker(1))
	for _, p := range paths {
		t.Run(filepath.Base(p), func(t *testing.T) {
			b, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			runAll(t, s, b)
		})
	}
	for _, name := range corpus {
		t.Run(name, func(t *testing.T) {
			m, err := frontend.Open(filepath.Join(dir, "corpus", name), frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			r, err := compile.All(context.Background(), m.Program,
				compile.Options{Target: target.H13, SplitKernel: true})
			if err != nil {
				t.Fatal(err)
			}
			b, err := hwx.Encode(r.HWX)
			if err != nil {
				t.Fatal(err)
			}
			runAll(t, s, b)
		})
	}
	closeAll(t, d, s)
}

func runAll(t *testing.T, s *Services, container []byte) {
	h, err := s.ProgramCreate(container)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prepare(h, PrepareOptions{}); err != nil {
		t.Fatal(err)
	}
	p, err := loader.Read(container)
	if err != nil {
		t.Fatal(err)
	}
	f, err := hwx.Read(container)
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range p.Procedures() {
		m := &model{ports: q.Ports, req: Request{Handle: h, Procedure: uint32(i), Priority: PriorityDefault}}
		for _, port := range q.Ports {
			b := make([]byte, port.Size)
			m.bufs = append(m.bufs, b)
			id := s.task.CreateSurface(b)
			if port.Output {
				m.req.Outputs = append(m.req.Outputs, id)
			} else {
				m.req.Inputs = append(m.req.Inputs, id)
			}
		}
		m.fill(uint64(i))
		// The reference is the container's own tasks on the memory that its own bars point at.
		own := plain{}
		hp := f.Procedures()[i]
		for id, addr := range hp.Bars {
			switch seg := f.SegmentAt(addr); seg.Name.String() {
			case hwx.SegScratch:
				own[id] = make([]byte, seg.VMSize)
			default:
				own[id] = f.ConstantBytes()
			}
		}
		for k, port := range q.Ports {
			own[int(port.Bar)] = bytes.Clone(m.bufs[k])
		}
		text, off, _ := f.Text().Of(hp)
		chain, err := td.V7.DecodeChain(text, off, hp.FirstWords)
		if err != nil {
			t.Fatal(err)
		}
		run := engine.New(engine.Options{L2Bytes: target.H13.L2Bytes, Workers: 2}).Run
		if err := run(context.Background(), chain, own); err != nil {
			t.Fatal(err)
		}
		if _, err := s.SendRequest(&m.req); err != nil {
			t.Fatal(err)
		}
		for k, port := range q.Ports {
			if port.Output && !bytes.Equal(m.bufs[k], own[int(port.Bar)]) {
				t.Errorf("procedure %q, output %q differs", q.Name, port.Name)
			}
		}
	}
	if err := s.Destroy(h); err != nil {
		t.Fatal(err)
	}
}
