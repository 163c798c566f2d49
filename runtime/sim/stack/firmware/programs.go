package firmware

import (
	"fmt"
)

// The tables of fixed size that calls index (chapters 29 and 30).
const (
	NumPrograms   = 144 // a program identifier of 144 or more is rejected
	NumProcesses  = 288 // a process identifier of 288 or more is rejected
	NumTaskQueues = 255 // network identifiers 1 to 255; 0 is reserved
)

// Programs holds the program slots and the processes that run them.
type Programs struct {
	slots     *Pool
	processes *Pool
	loaded    [NumPrograms]bool
	process   [NumProcesses]struct {
		program int
		machine *Machine[ProcessState, ProcessEvent] // nil in a free slot
	}
}

// NewPrograms returns empty tables.
func NewPrograms() *Programs {
	p := new(Programs)
	p.slots = &Pool{name: "program slot", used: make([]bool, NumPrograms), free: NumPrograms}
	p.processes = &Pool{name: "process slot", used: make([]bool, NumProcesses), free: NumProcesses}
	return p
}

// Load takes the lowest free program slot.
func (p *Programs) Load() (program int, err error) {
	program, err = p.slots.Take()
	if err == nil {
		p.loaded[program] = true
	}
	return program, err
}

// Unload frees a program slot without processes.
func (p *Programs) Unload(program int) error {
	if err := p.check(program); err != nil {
		return err
	}
	for i := range p.process {
		if x := &p.process[i]; x.machine != nil && x.program == program {
			return fmt.Errorf("firmware: program %d has process %d; detach it first", program, i)
		}
	}
	p.loaded[program] = false
	return p.slots.Release(program)
}

func (p *Programs) check(program int) error {
	if err := between("program identifier", int64(program), 0, NumPrograms-1); err != nil {
		return err
	}
	if !p.loaded[program] {
		return fmt.Errorf("firmware: program %d is not loaded", program)
	}
	return nil
}

// Attach creates an idle process of a program.
func (p *Programs) Attach(program int) (process int, err error) {
	if err := p.check(program); err != nil {
		return 0, err
	}
	if process, err = p.processes.Take(); err != nil {
		return 0, err
	}
	x := &p.process[process]
	x.program = program
	x.machine = NewMachine(fmt.Sprintf("process %d", process), ProcessIdle, ProcessRules)
	return process, nil
}

func (p *Programs) of(process int) (*Machine[ProcessState, ProcessEvent], error) {
	if err := between("process identifier", int64(process), 0, NumProcesses-1); err != nil {
		return nil, err
	}
	m := p.process[process].machine
	if m == nil {
		return nil, fmt.Errorf("firmware: process %d does not exist", process)
	}
	return m, nil
}

// Fire starts or stops a process.
func (p *Programs) Fire(process int, e ProcessEvent) error {
	m, err := p.of(process)
	if err != nil {
		return err
	}
	return m.Fire(e)
}

// Detach ends an idle process.
func (p *Programs) Detach(process int) error {
	m, err := p.of(process)
	switch {
	case err != nil:
		return err
	case m.State() != ProcessIdle:
		return fmt.Errorf("firmware: process %d is %s; stop it first", process, m.State())
	}
	p.process[process].machine = nil
	return p.processes.Release(process)
}

// Running reports whether a process of a program runs. It counts nothing.
func (p *Programs) Running(program, process int) bool {
	if process < 0 || process >= NumProcesses {
		return false
	}
	x := &p.process[process]
	return x.machine != nil && x.program == program && x.machine.State() == ProcessRunning
}

// ProcessReport is a process slot that is taken.
type ProcessReport struct {
	Process, Program int
	State            ProcessState
}

// Processes lists the process slots that are taken.
func (p *Programs) Processes() []ProcessReport {
	var out []ProcessReport
	for i := range p.process {
		if x := &p.process[i]; x.machine != nil {
			out = append(out, ProcessReport{Process: i, Program: x.program, State: x.machine.State()})
		}
	}
	return out
}

// Report reports program slots and process slots.
func (p *Programs) Report() [2]Report { return [2]Report{p.slots.Report(), p.processes.Report()} }

// TaskQueues holds the task queues by network identifier.
type TaskQueues struct{ pool *Pool }

// NewTaskQueues returns 255 free queues.
func NewTaskQueues() *TaskQueues {
	return &TaskQueues{&Pool{name: "task queue", used: make([]bool, NumTaskQueues), free: NumTaskQueues}}
}

// Open takes the free queue with the lowest identifier, 1 to 255.
func (q *TaskQueues) Open() (network int, err error) {
	i, err := q.pool.Take()
	if err != nil {
		return 0, err // 0 is the reserved identifier
	}
	return i + 1, nil
}

// Close frees a queue.
func (q *TaskQueues) Close(network int) error {
	if err := between("network identifier", int64(network), 1, NumTaskQueues); err != nil {
		return err
	}
	return q.pool.Release(network - 1)
}

// Report reports the queues.
func (q *TaskQueues) Report() Report { return q.pool.Report() }
