package coprocessor

import (
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
	"github.com/zinc-compiler/zinc/target"
)

// program is a loaded container with everything that does not depend on a call.
type program struct {
	slot     int
	network  int // its task queue, which it holds
	task     int // the task queue of its calls: the same, but for a boot value
	user     uint32
	ctx      *translation.Context // of the load; it has the program's own buffers
	procs    []procedure
	warnings []string
}

// procedure is what a call names.
type procedure struct {
	name  string
	tasks []td.Placed
	times []cost.Time // of the tasks
	kinds []cost.Term // what limits each
	ops   []span      // ranges of tasks, which a custom execute order names
	bars  [afpp.MaxBars]bar
	ports uint32 // bars that a call must bind
	io    uint32 // numIoBuffers
	words uint16 // of the first task
	text  uint32 // device address of the container
	first uint32 // index of the first task in the program
}

// span is a range of tasks.
type span struct{ first, n int }

// bar is a buffer-access register as the container has it.
type bar struct {
	usage translation.Usage // 0 if the procedure does not use it
	addr  uint64            // device address, from the records; 0 if a call binds it or no task uses it
	size  uint64            // bytes
}

// prepare reads a container and decodes its tasks.
func prepare(mem []byte, addr uint64, on *target.Table) (*program, error) {
	pkg, err := afpp.Read(mem)
	if err != nil {
		return nil, err
	}
	if len(pkg.Programs) != 1 {
		return nil, fmt.Errorf("coprocessor: the container has %d programs, want 1; put "+
			"each into its own container", len(pkg.Programs))
	}
	codec, err := td.CodecOf(on.Version)
	if err != nil {
		return nil, err
	}
	src := pkg.Programs[0]
	tasks, err := td.Join(src.Text.Images, src.Text.Records)
	if err != nil {
		return nil, fmt.Errorf("coprocessor: program 0.text: %w", err)
	}
	p := &program{procs: make([]procedure, len(src.Procedures)), warnings: pkg.Warnings()}
	for i := range p.procs {
		if err := p.procs[i].fill(src, &src.Procedures[i], tasks, uint32(addr), on, codec); err != nil {
			return nil, fmt.Errorf("coprocessor: procedure %d, %q: %w", i, src.Procedures[i].Name, err)
		}
	}
	if err := p.resolve(src.Text.Records, len(tasks)); err != nil {
		return nil, err
	}
	return p, nil
}

// resolve takes the addresses of the buffers that the load placed from the records: the address of a stream without its
// offset is in its buffer-access register, which must be the same in all records of a procedure.
func (p *program) resolve(records []td.Record, tasks int) error {
	owner := make([]*procedure, tasks)
	for i := range p.procs {
		for _, t := range p.procs[i].tasks {
			owner[t.Off/td.ImageSize] = &p.procs[i]
		}
	}
	for i := range records {
		r := &records[i]
		if r.Slot == 0 || !r.Resolved || owner[r.Task] == nil {
			continue
		}
		b, addr := &owner[r.Task].bars[r.Bar], r.Operand-uint64(r.Offset)
		if b.addr != 0 && b.addr != addr {
			return fmt.Errorf("coprocessor: record %d: register %d of procedure %q begins at %#x, "+
				"in an earlier record at %#x", i, r.Bar, owner[r.Task].name, addr, b.addr)
		}
		b.addr = addr
	}
	return nil
}

// fill prepares one procedure.
func (p *procedure) fill(src *afpp.Program, from *afpp.Procedure, tasks []*td.Task, text uint32,
	on *target.Table, codec *td.Codec) error {
	*p = procedure{name: from.Name, text: text}
	for _, b := range from.Bars {
		p.bars[b.ID] = bar{usage: translation.Usage(b.Usage), size: b.Size}
		if b.Usage == afpp.UsageInput || b.Usage == afpp.UsageOutput {
			p.io++
			if b.ByCall() {
				p.ports |= 1 << b.ID
			}
		}
	}
	for _, o := range src.Operations[from.FirstOperation : from.FirstOperation+from.Operations] {
		if len(p.ops) == 0 {
			p.first = o.FirstTask
		}
		p.ops = append(p.ops, span{len(p.tasks), int(o.Tasks)})
		for i := o.FirstTask; i < o.FirstTask+o.Tasks; i++ {
			if t := tasks[i]; !t.On(td.TDSkip) && (t.Planar() != td.NotPlanar) != afpp.PlanarOperation(o.Micro) {
				return fmt.Errorf("operation %q is %s, and its task %d is of the other engine", o.Name,
					afpp.MicroOperations[o.Micro], i)
			}
			p.tasks = append(p.tasks, td.Placed{Task: tasks[i], Off: int(i) * td.ImageSize, Codec: codec})
			e := cost.Estimate(tasks[i], on)
			p.times, p.kinds = append(p.times, e.Time), append(p.kinds, e.Bound)
		}
	}
	if len(p.tasks) == 0 {
		return fmt.Errorf("it has no tasks")
	}
	if len(p.tasks) > math.MaxUint16 {
		return fmt.Errorf("it has %d tasks; the limit of a submission is %d", len(p.tasks), math.MaxUint16)
	}
	p.words = uint16(p.tasks[0].Words())
	return nil
}

// Words of the register block that a submission copies (modelled: the chapter states only their number).
const (
	blockText  = afpp.MaxBars     // device address of the container
	blockFirst = afpp.MaxBars + 1 // first task
	blockCount = afpp.MaxBars + 2 // tasks
)

// The block has one word per register and three more.
var _ [firmware.BlockWords]struct{} = [afpp.MaxBars + 3]struct{}{}
