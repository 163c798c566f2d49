package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

type pair struct {
	A uint8
	B uint32
}

type every struct {
	One   uint8   `at:"0x01" name:"one"`
	Two   uint16  `at:"0x02" name:"two" src:"a table"`
	Four  uint32  `at:"0x05" name:"four"`
	Eight uint64  `at:"0x0a" name:"eight"`
	Pairs [2]pair `at:"0x12" name:"pairs"`
}

// TestLayoutFollowsTheTags writes and reads every kind of field, at places without alignment, and keeps the bytes
// between them.
func TestLayoutFollowsTheTags(t *testing.T) {
	l := New[every](30)
	v := every{One: 1, Two: 0x0203, Four: 0x04050607, Eight: 0x08090a0b0c0d0e0f,
		Pairs: [2]pair{{0x10, 0x11121314}, {0x15, 0x16171819}}}
	want := []byte{0xee, 1, 3, 2, 0xee, 7, 6, 5, 4, 0xee, 0xf, 0xe, 0xd, 0xc, 0xb, 0xa, 9, 8,
		0x10, 0x14, 0x13, 0x12, 0x11, 0x15, 0x19, 0x18, 0x17, 0x16, 0xee, 0xee, 0xff}
	b := bytes.Repeat([]byte{0xee}, 31)
	b[30] = 0xff
	l.Encode(b, &v)
	if !bytes.Equal(b, want) {
		t.Errorf("% x, want % x", b, want)
	}
	var got every
	l.Decode(b, &got)
	if got != v {
		t.Errorf("%+v, want %+v", got, v)
	}
	fields := []Field{{1, 1, "one", "modelled"}, {2, 2, "two", "a table"}, {5, 4, "four", "modelled"},
		{10, 8, "eight", "modelled"}, {18, 10, "pairs", "modelled"}}
	if fmt.Sprint(l.Fields) != fmt.Sprint(fields) {
		t.Errorf("%v, want %v", l.Fields, fields)
	}
}

// TestTheBytesAreLittleEndianOnEveryMachine has this machine take the way of one that stores the high byte first: then
// each number is written the other way round.
func TestTheBytesAreLittleEndianOnEveryMachine(t *testing.T) {
	defer func(was bool) { little = was }(little)
	little = !little
	l := New[every](30)
	v := every{Two: 0x0203, Four: 0x04050607, Pairs: [2]pair{1: {B: 0x16171819}}}
	b := make([]byte, 30)
	l.Encode(b, &v)
	want := make([]byte, 30)
	copy(want[2:], []byte{2, 3})
	copy(want[5:], []byte{4, 5, 6, 7})
	copy(want[24:], []byte{0x16, 0x17, 0x18, 0x19})
	if !bytes.Equal(b, want) {
		t.Errorf("% x, want % x", b, want)
	}
	var got every
	if l.Decode(b, &got); got != v {
		t.Errorf("%+v, want %+v", got, v)
	}
}

// TestMistakesInTagsPanic builds layouts that cannot be right.
func TestMistakesInTagsPanic(t *testing.T) {
	for name, c := range map[string]struct {
		build func()
		want  string
	}{
		"no tag": {func() { New[struct{ X uint32 }](8) }, ".X: 4 bytes tagged"},
		"no name": {func() {
			New[struct {
				X uint32 `at:"0"`
			}](8)
		}, ".X"},
		"too small": {func() { New[every](27) }, "every.Pairs: 10 bytes"},
		"overlap": {func() {
			New[struct {
				X uint32 `at:"0" name:"x"`
				Y uint32 `at:"3" name:"y"`
			}](8)
		}, "the field before ends at 0x4"},
		"signed": {func() {
			New[struct {
				X int64 `at:"0" name:"x"`
			}](8)
		}, "a field of type int64"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, c.want) {
					t.Errorf("%s, want %q", got, c.want)
				}
			}()
			c.build()
		})
	}
}
