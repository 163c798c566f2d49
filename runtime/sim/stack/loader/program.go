package loader

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/lower/td"
)

// Program is one container, read and checked once. It is immutable, and all loads of the container share it, from any
// goroutine.
type Program struct {
	container []byte
	file      *hwx.File
	codec     *td.Codec
	text      hwx.Text
	digest    [32]byte
	segments  segments
	procs     []*procedure
	ops       []afpp.Operation
	images    [][]byte
	records   []td.Record // unresolved
	texts     textUsers
}

// Procedure is a procedure that a call can name; its index is its number in messages.
type Procedure struct {
	Name  string
	Ports []Port // in the order of their bars
	Tasks int
}

// Port is a buffer that each call binds.
type Port struct {
	Name   string
	Bar    uint32 // buffer-access register
	Output bool
	Size   uint64 // bytes
}

// procedure is a procedure with its resolved bars.
type procedure struct {
	name     string
	bars     []bar // by identifier
	first    int   // operation
	ops      int
	tasks    int
	firstTID int // index of its first task in the program
}

// Read checks a container and returns its parts: its procedures' tasks as version-10 images and unresolved records, and
// its buffers by purpose. The slice stays in use. Errors are *Error, which may wrap errors of emit/hwx and lower/td.
func Read(container []byte) (*Program, error) {
	return ReadDigested(container, sha256.Sum256(container))
}

// ReadDigested is Read for a container whose SHA-256 is known.
func ReadDigested(container []byte, digest [32]byte) (*Program, error) {
	f, err := hwx.Read(container)
	if err != nil {
		return nil, &Error{Where: "container", Err: err}
	}
	p := &Program{container: container, file: f, text: f.Text(), digest: digest}
	var tasks []*td.Task
	err = p.take(func(t *td.Task, image []byte, records []td.Record) error {
		if len(tasks) == td.MaxTasks {
			return &Error{
				Where: "container",
				Rule:  "a load has too many tasks; split the model",
				Val:   len(tasks) + 1,
				Limit: td.MaxTasks,
			}
		}
		for i := range records {
			records[i].Task = len(tasks)
		}
		tasks, p.images = append(tasks, t.Clone()), append(p.images, slices.Clone(image))
		p.records = append(p.records, records...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s := p.segments.text
	n := min(s.FileSize, s.VMSize)
	p.segments.textBytes = container[s.FileOff : s.FileOff+n : s.FileOff+n]
	p.operations(tasks)
	return p, nil
}

// Check returns the error that Read would return for a container that is not written yet, or nil. It does not check the
// total number of tasks: the limit of td.MaxTasks applies to a load.
func Check(f *hwx.File) error {
	return (&Program{file: f, text: f.Text()}).take(func(*td.Task, []byte, []td.Record) error { return nil })
}

// take checks a container and passes its tasks to keep in order, each with its image and its records, whose tasks count
// from 0; they are valid until keep returns.
func (p *Program) take(keep func(t *td.Task, image []byte, records []td.Record) error) error {
	if bad := hwx.Validate(p.file); len(bad) > 0 {
		return &Error{Where: "container", Err: bad[0]}
	}
	var err error
	if p.codec, err = td.CodecFor(p.file.TaskVersion()); err != nil {
		return &Error{Where: "container byte 0x8, header.cpusubtype", Err: err}
	}
	if err := p.segments.find(p.file); err != nil {
		return err
	}
	first := 0
	for _, q := range p.file.Procedures() {
		pr, err := p.procedure(q)
		if err != nil {
			return err
		}
		pr.firstTID = first
		err = p.chain(pr, q, keep)
		if err != nil {
			return err
		}
		first += pr.tasks
		p.procs = append(p.procs, pr)
	}
	return nil
}

// chain takes the tasks of one procedure.
func (p *Program) chain(pr *procedure, q hwx.Procedure,
	keep func(t *td.Task, image []byte, records []td.Record) error) error {
	where := fmt.Sprintf("procedure %q", q.Name)
	text, entry, ok := p.text.Of(q)
	if !ok {
		return &Error{
			Where: where + ", entry",
			Rule:  "lies outside " + hwx.SegText + "," + hwx.SectText,
			Val:   q.Entry,
		}
	}
	var own *Error
	s := &splitTask{image: make([]byte, td.ImageSize)}
	err := p.codec.WalkChain(text, entry, q.FirstWords, func(t td.Placed) error {
		at := place{pr, pr.tasks, t.Off}
		err := at.take(t.Task, s, keep)
		pr.tasks++
		errors.As(err, &own)
		return err
	})
	switch {
	case own != nil:
		return own
	case err != nil:
		return &Error{Where: where, Err: err}
	case pr.tasks != q.Tasks:
		return &Error{Where: where + ", tasks", Rule: "is not what its chain has", Val: q.Tasks, Limit: pr.tasks}
	}
	return nil
}

// splitTask is the version-10 form of one task.
type splitTask struct {
	image   []byte
	records []td.Record
}

// take splits and checks one task, with s for its parts.
func (at place) take(t *td.Task, s *splitTask,
	keep func(t *td.Task, image []byte, records []td.Record) error) (err error) {
	if s.records, err = td.SplitTask(s.records[:0], s.image, 0, t); err != nil {
		return &Error{Where: at.String(), Err: err}
	}
	for i := range s.records {
		if err := at.check(&s.records[i]); err != nil {
			return err
		}
	}
	if err := at.checkKernel(t); err != nil {
		return err
	}
	return keep(t, s.image, s.records)
}

// procedure reads the bars of one procedure.
func (p *Program) procedure(q hwx.Procedure) (*procedure, error) {
	where := fmt.Sprintf("procedure %q", q.Name)
	if err := afpp.CheckName(q.Name); err != nil {
		return nil, &Error{Where: where, Err: err}
	}
	pr := &procedure{name: q.Name}
	ports := map[string]bool{}
	for id := range uint32(hwx.Bars) {
		addr, ok := q.Bars[int(id)]
		if !ok {
			continue
		}
		at := fmt.Sprintf("%s, buffer-access register %d", where, id)
		if id >= afpp.MaxBars {
			return nil, &Error{Where: at, Rule: "a task can name only 32 registers", Val: addr, Limit: afpp.MaxBars - 1}
		}
		b, ok, err := p.segments.bar(id, addr, at)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if b.port != "" {
			if ports[b.port] {
				return nil, &Error{Where: at, Rule: "the port is already bound to another register", Val: b.port}
			}
			ports[b.port] = true
		}
		pr.bars = append(pr.bars, b)
	}
	return pr, nil
}

// Subtype returns the CPU subtype of the container, which says what hardware runs it.
func (p *Program) Subtype() uint32 { return p.file.Header.CPUSubtype }

// Procedures lists the procedures in the order of their numbers.
func (p *Program) Procedures() []Procedure {
	l := make([]Procedure, len(p.procs))
	for i, pr := range p.procs {
		l[i] = Procedure{Name: pr.name, Tasks: pr.tasks}
		for _, b := range pr.bars {
			if b.port != "" {
				l[i].Ports = append(l[i].Ports, Port{
					Name:   b.port,
					Bar:    b.id,
					Output: b.usage == afpp.UsageOutput,
					Size:   b.size,
				})
			}
		}
	}
	return l
}

// bar returns a procedure's register, or nil if it is not set.
func (pr *procedure) bar(id int) *bar {
	i, ok := slices.BinarySearchFunc(pr.bars, uint32(id), func(b bar, id uint32) int { return cmp.Compare(b.id, id) })
	if !ok {
		return nil
	}
	return &pr.bars[i]
}
