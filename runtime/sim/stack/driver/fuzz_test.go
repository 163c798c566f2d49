package driver

import (
	"encoding/binary"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/addition"
	"github.com/zinc-compiler/zinc/target"
)

// FuzzExternalMethod calls selectors of all clients with any bytes: nothing
// panics or hangs, and the device serves an honest client afterwards.
func FuzzExternalMethod(f *testing.F) {
	in := make([]byte, RequestSize)
	for typ, table := range map[byte][]Selector{
		ControlClient:    ControlSelectors,
		DirectPathClient: DirectPathSelectors,
	} {
		for sel, row := range table {
			f.Add(typ, uint32(sel), false, make([]byte, row.Sizes.StructIn), uint8(row.Sizes.ScalarIn),
				uint16(row.Sizes.StructOut), uint8(row.Sizes.ScalarOut))
		}
	}
	f.Add(byte(ControlClient), uint32(2), true, in, uint8(1), uint16(40), uint8(0))
	f.Fuzz(func(t *testing.T, typ byte, selector uint32, fix bool, structIn []byte, scalars uint8, structOut uint16,
		outs uint8) {
		d := newDevice(t, Config{})
		task := broker(1)
		s := open(t, d, task)
		m := prepared(t, s, adder(t), PrepareOptions{})
		chain, err := s.ChainingPrepare(m.h, 0)
		if err != nil {
			t.Fatal(err)
		}
		direct, err := d.OpenDirect(task)
		if err != nil {
			t.Fatal(err)
		}
		of := map[byte]*Services{ControlClient: s, DirectPathClient: direct}[typ]
		if of == nil {
			return
		}
		a := &IOExternalMethodArguments{
			ScalarInput:     make([]uint64, scalars%17),
			StructureInput:  structIn,
			ScalarOutput:    make([]uint64, outs%17),
			StructureOutput: make([]byte, structOut%4097),
		}
		for i := range a.ScalarInput {
			a.ScalarInput[i] = uint64(of.token) + uint64(i)
		}
		if fix { // what a caller who knows the structs would correct
			le := binary.LittleEndian
			if n := len(structIn); n == RequestSize {
				le.PutUint64(structIn, uint64(m.h))
				le.PutUint32(structIn[reqCategory:], IOCategory)
				le.PutUint32(structIn[reqDoorbell:], 1)
				for i := range 5 {
					le.PutUint32(structIn[reqCounts+4*i:], le.Uint32(structIn[reqCounts+4*i:])%4)
				}
				for i := range 3 {
					le.PutUint32(structIn[0x020+4*i:], m.req.Inputs[0])
					le.PutUint32(structIn[0x220+4*i:], m.req.Outputs[0])
				}
			} else if n >= 16 {
				le.PutUint64(structIn, uint64(map[bool]Handle{true: m.h, false: chain.Handle}[n%16 == 0 && n != 3104 &&
					n != 40]))
				le.PutUint64(structIn[8:], task.Map(make([]byte, 4096)))
			}
		}
		block, done := encodeArguments(task, a)
		of.Client().ExternalMethodBytes(selector, block)
		done()
		of.Client().ExternalMethod(selector, a)

		honest := open(t, d, broker(2))
		prepared(t, honest, adder(t), PrepareOptions{}).check(t)
	})
}

// FuzzArguments decodes any block of bytes.
func FuzzArguments(f *testing.F) {
	task := broker(1)
	block, _ := encodeArguments(task, &IOExternalMethodArguments{
		ScalarInput:     []uint64{1},
		StructureInput:  []byte{1},
		ScalarOutput:    make([]uint64, 1),
		StructureOutput: make([]byte, 1),
	})
	f.Add(block)
	f.Fuzz(func(t *testing.T, b []byte) {
		a, store, r := DecodeArguments(task, b)
		if r == Success {
			store()
			if len(a.ScalarInput) > maxScalars || len(a.StructureInput) > maxStructure {
				t.Errorf("%d scalars, %d bytes", len(a.ScalarInput), len(a.StructureInput))
			}
		}
	})
}

// FuzzSendCommand injects any message into either ring: the firmware answers, or
// is recovered, and the device serves an honest client afterwards.
func FuzzSendCommand(f *testing.F) {
	f.Add(uint8(0), make([]byte, 24), false)
	f.Add(uint8(1), make([]byte, 120), true)
	f.Fuzz(func(t *testing.T, ch uint8, msg []byte, strict bool) {
		d := newDevice(t, Config{Strict: strict})
		s, err := d.OpenDirect(broker(1))
		if err != nil {
			t.Fatal(err)
		}
		s.Client().Method("ANE_SendCommand", &MethodArguments{In: []uint64{uint64(ch % 2)}, Data: msg})
		honest := open(t, d, broker(2))
		h, err := honest.ProgramCreate(adder(t))
		if err != nil {
			t.Fatal(err)
		}
		info, err := honest.Prepare(h, PrepareOptions{})
		if err != nil { // the command may have removed the endpoint: the second attempt finds the device intact
			if info, err = honest.Prepare(h, PrepareOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		m := bound(t, honest, h, info, adder(t))
		if _, err := honest.SendRequest(&m.req); err != nil {
			m.check(t)
		}
		m.check(t)
	})
}

// FuzzContainer creates, prepares and runs any container: if the driver accepts it, it runs or fails with a code.
func FuzzContainer(f *testing.F) {
	f.Add(adder(f), 0, byte(0))
	f.Add(pair(f), 40, byte(1))
	for _, b := range addition.Containers(f) {
		f.Add(b, 0, byte(0))
	}
	f.Fuzz(func(t *testing.T, container []byte, at int, by byte) {
		if len(container) > 0 {
			container[uint(at)%uint(len(container))] ^= by
		}
		o := Config{MaxWork: 1 << 20}
		if len(container) > 8 {
			if on := target.BySubtype(uint32(container[8])); on != nil { // a machine that runs it
				p := PropertiesOf(on)
				o.Properties = &p
			}
		}
		d := newDevice(t, o)
		s := open(t, d, broker(1))
		h, err := s.ProgramCreate(container)
		if err != nil {
			closeAll(t, d, s)
			return
		}
		if info, err := s.Prepare(h, PrepareOptions{}); err == nil {
			for _, p := range d.instance(h).p.procs {
				for _, q := range append(p.inputs, p.outputs...) {
					if q.Size > 1<<20 {
						return // the surfaces would be larger than the test wants
					}
				}
			}
			if len(d.instance(h).p.procs) > 0 {
				m := bound(t, s, h, info, container)
				_, _ = s.SendRequest(&m.req)
			}
		}
		closeAll(t, d, s)
	})
}
