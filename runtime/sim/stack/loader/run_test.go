package loader_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
	"github.com/zinc-compiler/zinc/target"
)

// direct is the memory that the container's own bars point at, without a load.
type direct map[int][]byte

func (d direct) Window(bar int, off, n int64, _ bool) ([]byte, error) {
	b := d[bar]
	if off < 0 || n < 0 || off > int64(len(b)) || n > int64(len(b))-off {
		return nil, fmt.Errorf("bar %d", bar)
	}
	return b[off : off+n], nil
}

// through is memory seen through the client's pages.
type through struct {
	c    *translation.Context
	bars map[int]afpp.Bar
}

func (m through) Window(bar int, off, n int64, write bool) ([]byte, error) {
	b, ok := m.bars[bar]
	if !ok || off < 0 || n < 0 || uint64(off) > b.Size || uint64(n) > b.Size-uint64(off) {
		return nil, fmt.Errorf("bar %d", bar)
	}
	access := translation.Read
	if write {
		access = translation.Write
	}
	return m.c.Window(b.Address+uint64(off), uint64(n), access, "engine")
}

// fill fills a buffer with halves between -1 and 1, the same for the same name.
func fill(name string, n uint64) []byte {
	b, x := make([]byte, n), uint32(len(name))
	for i := 0; i+1 < len(b); i += 2 {
		x = x*1664525 + 1013904223
		b[i], b[i+1] = byte(x>>8), byte(x>>24)&0x80|0x38|byte(x>>16)&3
	}
	return b
}

// TestRunsFromTheFirmwareContainer checks that the tasks of the firmware container, whose memory is only the client's
// pages, write what the container's own tasks write into plain buffers.
func TestRunsFromTheFirmwareContainer(t *testing.T) {
	run := func(t *testing.T, container []byte) {
		f, err := hwx.Read(container)
		if err != nil {
			t.Fatal(err)
		}
		c := unit(t, translation.Config{}).Context(1)
		p := read(t, container)
		g := firmware(t, c, load(t, p, c))
		tasks, err := td.Join(g.Text.Images, g.Text.Records)
		if err != nil {
			t.Fatal(err)
		}
		first := 0
		for i, q := range f.Procedures() {
			own, bars := direct{}, map[int]afpp.Bar{}
			for id, addr := range q.Bars {
				seg := f.SegmentAt(addr)
				switch seg.Name.String() {
				case hwx.SegScratch:
					own[id] = make([]byte, seg.VMSize)
				default:
					own[id] = f.ConstantBytes()
				}
			}
			for _, b := range g.Procedures[i].Bars {
				bars[int(b.ID)] = b
			}
			for _, port := range p.Procedures()[i].Ports {
				own[int(port.Bar)] = fill(port.Name, port.Size)
				b := bars[int(port.Bar)]
				m, err := c.Map(fill(port.Name, port.Size), translation.Usage(b.Usage), "call")
				if err != nil {
					t.Fatal(err)
				}
				b.Address = m.Addr()
				bars[int(port.Bar)] = b
			}
			text, off, _ := f.Text().Of(q)
			chain, err := td.V7.DecodeChain(text, off, q.FirstWords)
			if err != nil {
				t.Fatal(err)
			}
			var placed []td.Placed
			for _, task := range tasks[first : first+q.Tasks] {
				placed = append(placed, td.Placed{Task: task})
			}
			first += q.Tasks
			run := engine.New(engine.Options{L2Bytes: target.H13.L2Bytes}).Run
			if err := run(context.Background(), chain, own); err != nil {
				t.Fatal(err)
			}
			run = engine.New(engine.Options{L2Bytes: target.H13.L2Bytes}).Run
			if err := run(context.Background(), placed, through{c, bars}); err != nil {
				t.Fatal(err)
			}
			for _, port := range p.Procedures()[i].Ports {
				if !port.Output {
					continue
				}
				// What a task may only write the test reads as the host does.
				got, err := c.Window(bars[int(port.Bar)].Address, port.Size, translation.Write, "host")
				if err != nil || !bytes.Equal(got, own[int(port.Bar)]) {
					t.Errorf("procedure %q, output %q differs: %v", q.Name, port.Name, err)
				}
				if bytes.Equal(got, fill(port.Name, port.Size)) {
					t.Errorf("procedure %q, output %q was not written", q.Name, port.Name)
				}
			}
		}
	}
	for name, b := range goldens(t) {
		t.Run(name, func(t *testing.T) { run(t, b) })
	}
	for _, name := range []string{"espresso-fused-qkv", "fluid-token-duration", "silero-v6-fp16"} {
		for _, split := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v", name, split), func(t *testing.T) { run(t, compiled(t, name, split)) })
		}
	}
}
