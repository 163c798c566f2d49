package protocol

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

// A sealed ring finds every byte that changes, in both directions.
func TestSealsFindEveryChangedByte(t *testing.T) {
	var lose func([]byte) [][]byte
	c := controller(t, Config{Sealed: true, OnNote: func(slot []byte) [][]byte { return lose(slot) }})
	m, err := New(Logger, ByName("PRINT_ENABLE"), Header{}, record(t, enable, 1))
	if err != nil {
		t.Fatal(err)
	}
	good := Seal(m.Bytes())
	for i := range good {
		slot := bytes.Clone(good)
		slot[i] ^= 0x10
		if err := c.PostSlot(Control, slot); err != nil {
			t.Fatal(err)
		}
		d, ok := c.Next(Control)
		var damage *DamageError
		if !ok || d.Outcome != Rejected || !errors.As(d.Err, &damage) || !errors.Is(d.Err, ErrMalformed) {
			t.Errorf("byte %d: %+v", i, d)
		}
	}
	if err := c.PostSlot(Control, good[:2]); err != nil {
		t.Fatal(err)
	}
	if d, _ := c.Next(Control); d.Outcome != Rejected {
		t.Errorf("a slot without a seal: %v", d.Err)
	}
	if err := c.Post(Control, m.Bytes()); err != nil {
		t.Fatal(err)
	}
	if d, _ := c.Next(Control); d.Err != nil || !bytes.Equal(d.Bytes, m.Bytes()) {
		t.Errorf("%+v", d)
	}
	notify := func() {
		t.Helper()
		row := &Rows[IDProgramEvent]
		if err := c.Notify(row, Header{ProgramID: 3}, record(t, row.Request, 1, 2, 3)); err != nil {
			t.Fatal(err)
		}
	}
	var kept [][]byte
	for _, f := range []struct {
		lose func([]byte) [][]byte
		ok   bool
		bad  bool
	}{
		{func(s []byte) [][]byte { return [][]byte{s} }, true, false},
		{func(s []byte) [][]byte { kept = append(kept, slices.Clone(s)); return nil }, false, false},
		{func(s []byte) [][]byte { s[30] ^= 4; return [][]byte{s} }, true, true},
	} {
		lose = f.lose
		notify()
		m, ok, err := c.NextNotification()
		if ok != f.ok || (err != nil) != f.bad || (m != nil) != (ok && !f.bad) {
			t.Errorf("%v, %v, %v", m, ok, err)
		}
	}
	if err := c.PutNote(kept[0]); err != nil {
		t.Fatal(err)
	}
	if m, ok := c.TakeNotification(); !ok || m.Header.ProgramID != 3 {
		t.Errorf("a held notification: %v", m)
	}
	if n := c.Endpoint(Control).Pending(); n != 0 {
		t.Errorf("%d messages wait", n)
	}
	// What cannot be decoded is not emitted.
	row := &Rows[IDResetNote]
	if err := c.Notify(row, Header{}, &Record{
		Layout: row.Request,
		Values: []uint64{5, 2},
	}); !errors.Is(err, ErrMalformed) {
		t.Errorf("%v", err)
	}
	if err := c.Notify(row, Header{Priority: 9}, &Record{
		Layout: row.Request,
		Values: []uint64{1, 2},
	}); !errors.Is(err, ErrMalformed) {
		t.Errorf("%v", err)
	}
}
