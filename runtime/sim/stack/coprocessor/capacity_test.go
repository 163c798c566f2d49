package coprocessor

import (
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
)

func TestUrgentCallsRunFirst(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, adder), 0)
	var want []uint64
	byPri := map[uint32][]uint64{}
	for i := range 40 {
		b := x.body()
		hd := x.header()
		hd.Priority = uint32((i*5 + 3) % 8)
		byPri[hd.Priority] = append(byPri[hd.Priority], uint64(b.JobID))
		h.loop(0x204, hd, b)
	}
	for p := range uint32(8) {
		want = append(want, byPri[p]...)
	}
	if err := h.run(); err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for _, n := range h.notes() {
		got = append(got, n.values[2])
	}
	if !slices.Equal(got, want) {
		t.Errorf("order %v\nwant  %v", got, want)
	}
	full1(t, h.d, "direct procedure-call event")
}

func TestFullNotificationRingsAreHandled(t *testing.T) {
	h := ready(t, nil)
	for range 300 {
		h.post("RESOURCE_INFO_GET", none())
		if err := h.run(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(h.notes()); n != 256 || h.d.Stats().LostNotes != 44 {
		t.Errorf("%d notifications, %d lost", n, h.d.Stats().LostNotes)
	}
	replies := 0
	for {
		if _, ok := h.d.TakeReply(); !ok {
			break
		}
		replies++
	}
	if replies != maxReplies {
		t.Errorf("%d replies", replies)
	}
	h.must("RESOURCE_INFO_GET", none())
}

func TestFullQueuesRefuse(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, adder), 0)
	hd := x.header()
	msg := (&protocol.LoopMessage{
		Header: protocol.LoopHeader{Wire: 0x204, ProgramID: hd.ProgramID, ProcessID: hd.ProcessID, Priority: 4},
		Body:   x.body(),
	}).Bytes()
	n := 0
	for ; h.d.Rings().Post(protocol.Loop, msg) == nil; n++ {
	}
	if n != 64 {
		t.Errorf("the loop's ring takes %d messages, the host gave it 64", n)
	}
	call, err := protocol.New(Numbering, protocol.ByName("PROCEDURE_CALL"), hd, x.body())
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		if err := h.d.Rings().Post(protocol.Control, call.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	h.d.Write32(ANE, RegDoorbell, 1<<BellLoop|1<<BellControl)
	if err := h.run(); err != nil {
		t.Fatal(err)
	}
	done := map[Status]int{}
	for _, n := range h.notes() {
		done[n.status()]++
	}
	if done[StatusOK] != numJobs || done[StatusFull] != 8 {
		t.Errorf("%v", done)
	}
	full1(t, h.d, "direct procedure-call event")
	if x.call().status() != StatusOK {
		t.Error("the next call fails")
	}
}
