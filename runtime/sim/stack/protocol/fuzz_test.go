package protocol

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
)

// FuzzCommands decodes any bytes as a message of either channel in both
// numberings and feeds them to a controller: an error or a message that encodes
// to the same bytes, in memory that the length bounds.
func FuzzCommands(f *testing.F) {
	for i := range Rows {
		f.Add(sample(f, Logger, &Rows[i]).Bytes())
		f.Add(sample(f, Wire, &Rows[i]).Bytes())
	}
	for _, r := range ExeLoop {
		m := sample(f, Logger, &Rows[r.Body])
		f.Add((&LoopMessage{Header: LoopHeader{Wire: r.Wire}, Body: m.Body}).Bytes())
	}
	f.Add([]byte{0x41, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, msg []byte) {
		for _, n := range []Numbering{Logger, Wire} {
			m, used, err := Decode(n, msg)
			if err != nil {
				known(t, err)
				continue
			}
			if used > len(msg) || !bytes.Equal(m.Bytes(), msg[:used]) {
				t.Errorf("%v decodes and encodes to other bytes", m.Row)
			}
		}
		m, used, err := DecodeLoop(msg)
		if err != nil {
			known(t, err)
		} else if used > len(msg) || !bytes.Equal(m.Bytes(), msg[:used]) {
			t.Errorf("%s decodes and encodes to other bytes", m.Row.Meaning)
		}
		c := controller(t, Config{})
		bindLoop(t, c)
		for _, ch := range []Channel{Control, Loop} {
			if err := c.Post(ch, msg); err != nil {
				if ch == Loop && !c.Endpoint(Loop).Bound() && errors.Is(err, ErrUnbound) {
					continue // the message was IPC_ENDPOINT_UNSET
				}
				t.Fatal(err)
			}
			if d, ok := c.Next(ch); !ok || (d.Err == nil) != (d.Outcome == Ran) {
				t.Errorf("%+v", d)
			}
		}
	})
}

// known checks that an error belongs to one of the package's classes.
func known(t *testing.T, err error) {
	t.Helper()
	for _, want := range []error{ErrMalformed, ErrUnsupported} {
		if errors.Is(err, want) {
			return
		}
	}
	t.Errorf("an error of no class: %v", err)
}

// TestHostileLengthsAllocateNothing checks that the largest counts and sizes allocate nothing that the message's length
// does not justify.
func TestHostileLengthsAllocateNothing(t *testing.T) {
	for i := range Rows {
		b := sample(t, Logger, &Rows[i]).Bytes()
		for off := 4; off+4 <= len(b); off += 4 {
			lie := bytes.Clone(b)
			for k := range 4 {
				lie[off+k] = 0xff
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, _ = Decode(Logger, lie)
			_, _, _ = DecodeLoop(lie)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
				t.Errorf("%v: a lie at %#x allocates %d bytes for a message of %d", &Rows[i], off, n, len(lie))
			}
		}
	}
}
