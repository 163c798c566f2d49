package firmware

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Object is a kind of kernel object; each kind has its own pool.
type Object int

// The kinds of kernel objects.
const (
	Tasks Object = iota
	Semaphores
	Mailboxes
	Queues
	Signals
	Timers
	Mutexes
	NumObjects = iota
)

var objectNames = []string{"task", "semaphore", "mailbox", "queue", "signal", "timer", "mutex"}

// String names the kind.
func (o Object) String() string { return word(objectNames, int(o)) }

// KernelConfig sizes a kernel. The capacities are modelled: the chapter says only that they are fixed.
type KernelConfig struct {
	Capacity    [NumObjects]int
	Interrupts  int    // records of the interrupt buffer
	InitialHeap uint64 // bytes
	Reserved    uint64 // bytes reserved for the framework
}

// DefaultKernel has room for twice the named tasks.
var DefaultKernel = KernelConfig{
	Capacity: [NumObjects]int{32, 160, 32, 64, 32, 32, 32}, Interrupts: 64,
	InitialHeap: 64 << 20, Reserved: 1 << 20,
}

// Message is a message that a pump passes to its handler.
type Message struct {
	Interrupt bool // from the interrupt-context queue
	Data      []byte
}

// Post is a message for a task.
type Post struct {
	To   *Task
	Data []byte
}

// Handler runs one message to completion, in task context, and returns the messages to send. A send to a full queue
// parks the task until there is room.
type Handler func(Message) []Post

// TaskConfig is a task to create.
type TaskConfig struct {
	Name     string
	Priority int // of the kernel thread; a higher one runs first
	Depth    int // of both queues
	Width    int // bytes of the longest message
	Handler  Handler
}

// Task is a message pump.
type Task struct {
	TaskConfig
	input, interrupt *Queue
	machine          *Machine[TaskState, TaskEvent]
	objects          [NumObjects][]int // of the pools
	records          []int             // of the interrupt buffer, one record per message
	held             [1]int            // avoids an allocation for the usual single record
	outbox           []Post            // messages not yet sent
	order            uint64            // when it became runnable or parked
	current          bool              // from the start of a message to the end of its sends
	gone             bool
}

// Kernel runs message pumps, the highest priority first. Preemption happens at a send: a task of a higher priority runs
// before the sender's next send.
type Kernel struct {
	mu        sync.Mutex
	pools     [NumObjects]*Pool
	interrupt *Pool
	framework Arena
	Heap      Arena   // what the framework's reservation leaves
	tasks     []*Task // in the order of creation
	order     uint64
	running   bool
}

// Boot creates a kernel. The heap must be more than twice the framework's reservation.
func Boot(c KernelConfig) (*Kernel, error) {
	if c.InitialHeap/2 < c.Reserved || c.InitialHeap == 2*c.Reserved {
		return nil, fmt.Errorf("firmware: the initial heap is %d bytes, want more than twice the reservation of %d; "+
			"enlarge the heap", c.InitialHeap, c.Reserved)
	}
	k := &Kernel{framework: Arena{name: "framework arena", size: c.Reserved},
		Heap: Arena{name: "heap arena", size: c.InitialHeap - c.Reserved}}
	var err error
	for o := range k.pools {
		if k.pools[o], err = NewPool(Object(o).String(), c.Capacity[o]); err != nil {
			return nil, err
		}
	}
	k.interrupt, err = NewPool("interrupt record", c.Interrupts)
	return k, err
}

// Pools reports every pool, total and available, then the interrupt buffer and the bytes of the two arenas.
func (k *Kernel) Pools() []Report {
	out := make([]Report, 0, NumObjects+3)
	for _, p := range k.pools {
		out = append(out, p.Report())
	}
	return append(out, k.interrupt.Report(), k.framework.Report(), k.Heap.Report())
}

// Take takes an object that is not a task's, until Release.
func (k *Kernel) Take(o Object) (int, error) { return k.pools[o].Take() }

// Release returns an object to its pool.
func (k *Kernel) Release(o Object, i int) error { return k.pools[o].Release(i) }

// taskObjects lists the objects of a task: itself, two queues, and a lock and two semaphores per queue.
var taskObjects = [NumObjects]int{Tasks: 1, Queues: 2, Semaphores: 4, Mutexes: 2}

// stackBytes is the stack of a task (modelled).
const stackBytes = 16 << 10

// bytes is what a task takes of the framework's arena: its stack, and the rings of its queues.
func (c *TaskConfig) bytes() uint64 { return stackBytes + 2*uint64(c.Depth*c.Width) }

// Create creates a task in state WAITING. If a pool is empty, it takes nothing.
func (k *Kernel) Create(c TaskConfig) (*Task, error) {
	if c.Handler == nil {
		return nil, fmt.Errorf("firmware: task %s has no handler", c.Name)
	}
	t := &Task{TaskConfig: c, machine: NewMachine("task "+c.Name, Waiting, TaskRules)}
	var err error
	if t.input, err = NewQueue(c.Name+" input", c.Depth, c.Width); err != nil {
		return nil, err
	}
	if t.interrupt, err = NewQueue(c.Name+" interrupt", c.Depth, c.Width); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.framework.Take(c.bytes()); err != nil {
		return nil, err
	}
	for o, n := range taskObjects {
		for range n {
			i, err := k.pools[o].Take()
			if err != nil {
				return nil, errors.Join(fmt.Errorf("firmware: task %s: %w", c.Name, err), k.release(t))
			}
			t.objects[o] = append(t.objects[o], i)
		}
	}
	k.tasks = append(k.tasks, t)
	return t, nil
}

func (k *Kernel) release(t *Task) (err error) {
	k.framework.Release(t.bytes())
	for o, is := range t.objects {
		for _, i := range is {
			err = errors.Join(err, k.pools[o].Release(i))
		}
		t.objects[o] = nil
	}
	return err
}

func (k *Kernel) live(t *Task) error {
	if t == nil {
		return errors.New("firmware: the task is nil")
	}
	if t.gone || !slices.Contains(k.tasks, t) {
		return fmt.Errorf("firmware: task %s does not belong to this kernel; it may have ended", t.Name)
	}
	return nil
}

func (t *Task) pending() bool {
	return len(t.input.used) > 0 || len(t.interrupt.used) > 0 || len(t.outbox) > 0
}

// wake makes a task that waits for messages runnable.
func (k *Kernel) wake(t *Task) {
	if t.machine.State() == Waiting && t.machine.Fire(TaskPosted) == nil {
		k.stamp(t)
	}
}

func (k *Kernel) stamp(t *Task) { k.order++; t.order = k.order }

// Post sends a message to a task from outside. A full queue refuses it.
func (k *Kernel) Post(t *Task, data []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.post(t, data)
}

func (k *Kernel) post(t *Task, data []byte) error {
	if err := k.live(t); err != nil {
		return err
	}
	if err := t.input.TrySend(data); err != nil {
		return err
	}
	k.wake(t)
	return nil
}

// Interrupt does what an interrupt handler does: it takes a record of the interrupt buffer and posts a message to the
// task's interrupt queue. The task runs later.
func (k *Kernel) Interrupt(t *Task, data []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.live(t); err != nil {
		return err
	}
	r, err := k.interrupt.Take()
	if err != nil {
		return err
	}
	if err := t.interrupt.TrySend(data); err != nil {
		return errors.Join(err, k.interrupt.Release(r))
	}
	if len(t.records) == 0 {
		t.records = t.held[:0]
	}
	t.records = append(t.records, r)
	k.wake(t)
	return nil
}

// Change delivers one of the events that come from outside a pump, from TaskSuspend on. It refuses events that the
// task's state does not accept.
func (k *Kernel) Change(t *Task, e TaskEvent) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.live(t); err != nil {
		return err
	}
	if e < TaskSuspend || e >= NumTaskEvents {
		return fmt.Errorf("firmware: task %s: only the kernel may deliver event %s", t.Name, e)
	}
	if err := t.machine.Fire(e); err != nil {
		return err
	}
	k.stamp(t)
	return nil
}

// TaskReport is a line of the task list.
type TaskReport struct {
	Name             string
	Priority         int
	State            TaskState
	Input, Interrupt Report
}

// TaskList lists the tasks in the order of creation.
func (k *Kernel) TaskList() []TaskReport {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := make([]TaskReport, len(k.tasks))
	for i, t := range k.tasks {
		out[i] = TaskReport{
			Name:      t.Name,
			Priority:  t.Priority,
			State:     t.machine.State(),
			Input:     t.input.Report(),
			Interrupt: t.interrupt.Report(),
		}
	}
	return out
}
