package coprocessor

import (
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
)

// pump is one of the long-lived tasks.
type pump int

// The named tasks of chapter 29.
const (
	idleTask pump = iota
	taskTerminator
	exeLoopPump
	translationManager
	tunableLoader
	loadMonitor
	interruptManager
	callManager
	server
	hostRPC
	numPumps
)

// pumps lists the tasks with the handlers of their messages. The priorities of the kernel threads are modelled:
// interrupts first, then the tasks that take messages off the rings and those they pass them to, so that all posted
// messages are ordered by priority before the first call starts.
var pumps [numPumps]pumpRow

// pumpRow is a row of pumps.
type pumpRow struct {
	name     string
	priority int
	handle   func(b *boot, m firmware.Message) []firmware.Post
}

// The handlers name the table, so it is filled when all are there.
func init() {
	pumps = [numPumps]pumpRow{
		{"idle task", 0, (*boot).pass}, // gets no message
		{"task terminator", 8, (*boot).pass},
		{"execution-loop pump", 6, (*boot).exeLoop},
		{"address-translation manager", 8, (*boot).pass},
		{"tunable-register loader", 8, (*boot).pass},
		{"load monitor", 1, (*boot).load},
		{"interrupt manager", 9, (*boot).interrupts},
		{"call manager", 2, (*boot).calls},
		{"server", 5, (*boot).server},
		{"host remote-procedure-call daemon", 8, (*boot).pass},
	}
}

const (
	pumpDepth = 16 // messages of each queue, modelled
	pumpWidth = 8  // bytes of a message, modelled
)

// Messages between pumps; each carries a word.
var (
	wordBell  = []byte{0}
	wordStuck = []byte{0xff}
)

// runState is the state of one Run; it has one owner.
type runState struct {
	again   [numPumps][]firmware.Post // a message to each pump, allocated once
	passed  *protocol.Delivery        // passed by the server to another pump
	waiting int                       // calls in the scheduler that have not started
	kicked  bool                      // the call manager has a message
	flight  int                       // calls accepted but not complete
	done    []byte                    // the interrupt record of a completion
}

func (b *boot) createPumps() error {
	for i := range pumps {
		p := &pumps[i]
		t, err := b.kernel.Create(firmware.TaskConfig{
			Name: p.name, Priority: p.priority, Depth: pumpDepth, Width: pumpWidth,
			Handler: func(m firmware.Message) []firmware.Post {
				if b.dead() {
					return nil
				}
				b.at, b.inInterrupt = pump(i), m.Interrupt
				return p.handle(b, m)
			},
		})
		if err != nil {
			return err
		}
		b.tasks[i] = t
		b.run.again[i] = []firmware.Post{{To: t, Data: wordBell}}
	}
	return nil
}

// exeLoop takes one message of the execution loop's ring.
func (b *boot) exeLoop(firmware.Message) []firmware.Post {
	return b.takeOne(protocol.Loop, exeLoopPump)
}

// server takes one message of the control ring.
func (b *boot) server(firmware.Message) []firmware.Post { return b.takeOne(protocol.Control, server) }

// takeOne runs the oldest message of a ring to completion and posts itself again for the next one.
func (b *boot) takeOne(ch protocol.Channel, self pump) []firmware.Post {
	ring := b.rings.Endpoint(ch)
	if !b.channels[ringChannel[ch]].Ready {
		if _, ok := ring.Take(); !ok {
			return nil
		}
		b.notReady()
		return b.run.again[self]
	}
	d, ok := b.rings.Next(ch)
	if !ok {
		if err := b.rings.Fault(); err != nil {
			b.fail(synchronousAbort, err)
		}
		return nil
	}
	var posts []firmware.Post
	if to := b.take(d); to != idleTask {
		b.run.passed = d
		posts = b.run.again[to]
	} else {
		posts = b.kick()
	}
	if ring.Pending() > 0 && !b.dead() {
		// A message that was passed on runs before this one, since its task has a higher priority; calls run after it.
		return append(posts[:len(posts):len(posts)], b.run.again[self]...)
	}
	return posts
}

// ringChannel maps a ring to the index of its channel in the table.
var ringChannel = [2]int{protocol.Control: 4, protocol.Loop: 7}

// pass runs the message that the server passed on.
func (b *boot) pass(firmware.Message) []firmware.Post {
	d := b.run.passed
	b.run.passed = nil
	if d != nil {
		b.command(d)
	}
	return b.kick()
}

// kick wakes the call manager with one message if calls wait.
func (b *boot) kick() []firmware.Post {
	if b.run.waiting == 0 || b.run.kicked || b.dead() {
		return nil
	}
	b.run.kicked = true
	return b.run.again[callManager]
}
