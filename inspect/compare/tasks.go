package compare

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/inspect/dump"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/lower/td"
)

// fieldTable is the field table; the index of a row is its td.Field.
var fieldTable = td.Fields()

// manyTasks begins the subject of a change that represents all tasks of an operation and rule.
const manyTasks = "tasks of "

// task is a task of a side.
type task struct {
	*td.Task                 // nil if its fields are not known
	codec     *td.Codec      // of the Task
	words     []byte         // without a Task, its part of the task section
	links     map[int]uint32 // bits that number it and lead to the next, by word; nil if they are not known
	off       int            // in the task section
	index     int            // in its chain
	procedure string
	subject   string   // "tasks of conv x by convolution", without a database "task 3 of net"
	of        string   // "conv x by convolution", if only a database for names has it
	names     []string // statements that it came from, constants among them
	key       string   // the key for pairing
	class     string   // without a pair by key, a task may be paired with one of the same class
}

// title names a task in a change.
func (t *task) title() string {
	if t.of == "" {
		return t.subject
	}
	return t.subject + ", of " + t.of
}

// chain is the tasks of a procedure.
type chain struct {
	name  string
	tasks []task

	// Of tasks whose fields are not known.
	bounded boundary
	entry   int
	extent  int // bytes to the next procedure
	stated  int // tasks, as the container states them
}

// tasksOf decodes the tasks once. Their target must have a field table.
func (s *Side) tasksOf() ([]chain, error) {
	if !s.decoded {
		s.decoded = true
		s.chains, s.undecoded = s.decodeTasks()
	}
	return s.chains, s.undecoded
}

func (s *Side) decodeTasks() (out []chain, err error) {
	s.sums = map[[2]uint64]string{}
	chains := dump.ChainsOf(s.file)
	for _, p := range s.file.Procedures() {
		placed, err := chains.Tasks(p)
		if err != nil {
			return nil, fmt.Errorf("procedure %s: %w", p.Name, err)
		}
		c := chain{name: p.Name, tasks: make([]task, len(placed))}
		for i := range placed {
			c.tasks[i] = task{
				Task: placed[i].Task, codec: placed[i].Codec, off: placed[i].Off, index: i, procedure: p.Name,
			}
			s.identify(&c.tasks[i])
		}
		out = append(out, c)
	}
	return out, nil
}

// identify sets the key of a task: the statements and the rule that it came from, or without a database what it
// computes.
func (s *Side) identify(t *task) {
	t.class = "planar"
	if t.Planar() == td.NotPlanar {
		t.class = "neural"
	}
	if s.db != nil {
		if i := s.db.TaskAt(uint64(t.off)); i >= 0 {
			x := &s.db.Tasks[i]
			t.names = s.from(x.Node, x.With)
			t.key = s.key(x.Node) + "\x02" + x.Rule
			t.subject = manyTasks + s.label(x.Node) + " by " + x.Rule
			return
		}
	}
	h := fnv.New64a()
	var b [4]byte
	for i := range fieldTable {
		if k := fieldTable[i].Kind; k != td.Chain && k != td.Address {
			binary.LittleEndian.PutUint32(b[:], t.Get(td.Field(i)))
			h.Write(b[:])
		}
	}
	for _, x := range streamed(t, s.file.ConstantBytes(), "") {
		at := [2]uint64{x.off, uint64(len(x.data))}
		sum, ok := s.sums[at]
		if !ok {
			sum = digest(x.data)
			s.sums[at] = sum
		}
		h.Write([]byte(sum))
	}
	t.key = strconv.FormatUint(h.Sum64(), 16)
	t.subject = "task " + strconv.Itoa(t.index) + " of " + t.procedure
	s.origin(t)
}

// origin sets the statements and the operation that a task came from and returns its entry in the database for names,
// nil without one.
func (s *Side) origin(t *task) *provenance.Task {
	if s.told == nil {
		return nil
	}
	i := s.told.TaskAt(uint64(t.off))
	if i < 0 {
		return nil
	}
	x := &s.told.Tasks[i]
	t.names, t.of = s.from(x.Node, x.With), s.label(x.Node)+" by "+x.Rule
	return x
}

// taskPairs pairs the tasks of two procedures by their keys, then those between the
// same neighbours by their class.
func (p *pairing) taskPairs(a, b *chain) (to, from []int) {
	key := func(t *task) string { return t.key }
	to, from = p.keyPairs(keysOf(a.tasks, key), keysOf(b.tasks, key))
	fill(to, from, func(i, j int) bool { return a.tasks[i].class == b.tasks[j].class })
	return to, from
}

// keyPairs pairs tasks by their keys: in any order if keys are origins, but in order first if keys are contents.
func (p *pairing) keyPairs(a, b []string) (to, from []int) {
	if p.a.db != nil {
		return match(a, b)
	}
	return sequence(a, b)
}

// decodable returns why the tasks of a side cannot be compared field by field, or "".
func decodable(s *Side) string {
	if _, err := s.file.TaskVersion(); err != nil {
		return fmt.Sprintf("CPU subtype %d has no field table", s.file.Header.CPUSubtype)
	}
	if _, err := s.tasksOf(); err != nil {
		return "its tasks do not decode: " + err.Error()
	}
	return ""
}

func (p *pairing) tasks() (out []*Change, err error) {
	a, b, err := p.bothTasks()
	if err != nil {
		return nil, err
	}
	if why := p.missing(decodable); why != "" {
		p.note(Tasks, "compared as words, by their offset within a task, as "+why+"; "+howBounded(a, b))
	}
	d := &taskDiff{index: map[string]*Change{}, counts: map[*Change]*tally{}}
	pairs := p.chainPairs(a, b)
	for _, x := range pairs {
		to, from := p.taskPairs(x[0], x[1])
		d.chain(x[0], x[1], to, from)
	}
	return d.changes(), nil
}

// callers returns for each procedure the function and inference that first call it.
func (s *Side) callers() map[string]string {
	out := map[string]string{}
	if s.program == nil {
		return out
	}
	for i := range s.program.Functions {
		f := &s.program.Functions[i]
		n := 0
		for b := range f.Blocks {
			for k := range f.Blocks[b].Operations {
				if a, ok := f.Blocks[b].Operations[k].Attrs.(*e5.AneInferenceAttrs); ok {
					if n++; out[a.ProcedureName] == "" {
						out[a.ProcedureName] = f.Name + "\x02" + strconv.Itoa(n)
					}
				}
			}
		}
	}
	return out
}

// procedure returns side B's name of a procedure of side A: the same name or, if B does not have it, the name of the
// procedure that the same inference calls.
func (p *pairing) procedure(name string) string {
	if p.procedures == nil {
		p.procedures = map[string]string{}
		names := func(s *Side) []string {
			return keysOf(s.file.Procedures(), func(x *hwx.Procedure) string { return x.Name })
		}
		a, b := names(p.a), names(p.b)
		to, from := match(a, b)
		called := p.b.callers()
		for n, c := range p.a.callers() {
			if _, both := called[n]; !both {
				called[n] = c
			}
		}
		again(a, b, to, from, func(n *string) string { return called[*n] })
		for i, j := range to {
			if j >= 0 && a[i] != b[j] {
				p.procedures[a[i]] = b[j]
			}
		}
	}
	if n, ok := p.procedures[name]; ok {
		return n
	}
	return name
}

// bothTasks returns the tasks of both sides, as words unless all decode.
func (p *pairing) bothTasks() (a, b []chain, err error) {
	if p.missing(decodable) != "" {
		a, b = p.wordSides()
		return a, b, nil
	}
	if a, err = p.a.tasksOf(); err == nil {
		b, err = p.b.tasksOf()
	}
	return a, b, err
}

// chainPairs pairs procedures; tasks of only one side are paired with an empty one.
func (p *pairing) chainPairs(a, b []chain) (out [][2]*chain) {
	other := map[string]*chain{}
	for i := range b {
		other[b[i].name] = &b[i]
	}
	for i := range a {
		name := p.procedure(a[i].name)
		y := other[name]
		delete(other, name)
		if y == nil {
			y = &chain{name: name}
		}
		out = append(out, [2]*chain{&a[i], y})
	}
	for i := range b {
		if other[b[i].name] != nil {
			out = append(out, [2]*chain{{name: b[i].name}, &b[i]})
		}
	}
	return out
}

// tally counts the tasks of the details of a change.
type tally struct {
	tasks   int
	details []string
	count   map[string]int
}

// taskDiff gathers differences of tasks, in one change for one operation and rule.
type taskDiff struct {
	out    []*Change
	index  map[string]*Change
	counts map[*Change]*tally
	moved  int // tasks that differ only in addresses
	first  string
}

func (d *taskDiff) note(k Kind, t *task, details ...string) {
	id := string(k) + "\x00" + t.procedure + "\x00" + t.subject
	c := d.index[id]
	if c == nil {
		c = &Change{Level: Tasks, Kind: k, Subject: t.title()}
		d.index[id] = c
		d.counts[c] = &tally{count: map[string]int{}}
		d.out = append(d.out, c)
	}
	c.names = merged(c.names, t.names)
	n := d.counts[c]
	n.tasks++
	for _, x := range details {
		if n.count[x] == 0 {
			n.details = append(n.details, x)
		}
		n.count[x]++
	}
}

// merged adds the names that are not yet in a list.
func merged(to, more []string) []string {
	if len(to) > 0 && len(more) > 0 && &to[0] == &more[0] {
		return to
	}
	have := map[string]bool{}
	for _, x := range to {
		have[x] = true
	}
	for _, x := range more {
		if !have[x] {
			to = append(to[:len(to):len(to)], x)
		}
	}
	return to
}

func (d *taskDiff) chain(a, b *chain, to, from []int) {
	for i := range a.tasks {
		x := &a.tasks[i]
		if to[i] < 0 {
			d.note(Removed, x, x.size()...)
			continue
		}
		y := &b.tasks[to[i]]
		words, elsewhere := details(x, y)
		switch {
		case len(words) > 0:
			t := *x
			if t.names = merged(x.names, y.names); t.of == "" {
				t.of = y.of
			}
			d.note(Changed, &t, words...)
		case elsewhere:
			if d.moved++; d.first == "" {
				d.first = fmt.Sprintf("the first is task %d of %s", x.index, x.procedure)
				if of, ok := strings.CutPrefix(x.subject, manyTasks); ok {
					d.first += ", of " + of
				}
			}
		}
	}
	for j := range b.tasks {
		if from[j] < 0 {
			d.note(Added, &b.tasks[j], b.tasks[j].size()...)
		}
	}
	for _, i := range moved(to) {
		d.note(Moved, &a.tasks[i])
	}
}

// details lists the differences of two tasks by field or word, and reports whether they use other addresses.
func details(a, b *task) (out []string, elsewhere bool) {
	if a.Task == nil {
		return wordDetails(a, b), false
	}
	return fieldDetails(a, b)
}

// fieldDetails lists the fields in which two tasks differ, and reports whether they use other addresses.
func fieldDetails(a, b *task) (out []string, elsewhere bool) {
	var runs []fieldRun
	for i := range fieldTable {
		row := &fieldTable[i]
		x, y := a.Get(td.Field(i)), b.Get(td.Field(i))
		if x == y || row.Kind == td.Chain {
			continue
		}
		if row.Kind == td.Address {
			elsewhere = true
			continue
		}
		if n := len(runs) - 1; n >= 0 && row.Follows(runs[n].last) && runs[n].x == x && runs[n].y == y {
			runs[n].last = row
			continue
		}
		runs = append(runs, fieldRun{first: row, last: row, x: x, y: y})
	}
	for i := range runs {
		out = append(out, runs[i].text())
	}
	return out, elsewhere
}

// fieldRun is a field, or adjacent fields of an array that change in the same way.
type fieldRun struct {
	first, last *td.Row
	x, y        uint32
}

func (r *fieldRun) text() string {
	text := fmt.Sprintf("%s: %d -> %d", td.RunName(r.first, r.last), r.x, r.y)
	if r.first.Doc != "" {
		text += " (" + r.first.Doc + ")"
	}
	return text
}

func (d *taskDiff) changes() []*Change {
	for _, c := range d.out {
		n := d.counts[c]
		if strings.HasPrefix(c.Subject, manyTasks) {
			c.Details = append(c.Details, diag.Count(n.tasks, "task", "tasks"))
		}
		for _, x := range n.details {
			if k := n.count[x]; k < n.tasks {
				x += " in " + strconv.Itoa(k) + " of them"
			}
			c.Details = append(c.Details, x)
		}
	}
	d.out = d.summary()
	if d.moved > 0 {
		d.out = append(d.out, newChange(Tasks, Moved, "addresses", nil, diag.Count(d.moved, "task uses", "tasks use")+
			" other addresses and differ in nothing else", d.first))
	}
	return d.out
}

// If more than manyChanges operations have tasks that differ, a summary before them counts them and names the
// maxShared most frequent details.
const (
	manyChanges = 24
	maxShared   = 8
)

// summary inserts that change.
func (d *taskDiff) summary() []*Change {
	if len(d.out) <= manyChanges {
		return d.out
	}
	tasks, shared := map[Kind]int{}, map[string]int{}
	for _, c := range d.out {
		n := d.counts[c]
		tasks[c.Kind] += n.tasks
		for x, k := range n.count {
			shared[x] += k
		}
	}
	all := &Change{Level: Tasks, Kind: Changed, Subject: "all tasks"}
	for _, k := range []Kind{Changed, Added, Removed, Moved} {
		if tasks[k] > 0 {
			all.Details = append(all.Details, diag.Count(tasks[k], "task", "tasks")+" "+string(k))
		}
	}
	often := slices.SortedFunc(maps.Keys(shared), func(x, y string) int {
		return cmp.Or(cmp.Compare(shared[y], shared[x]), cmp.Compare(x, y))
	})
	for _, x := range often[:min(len(often), maxShared)] {
		if shared[x] > 1 {
			all.Details = append(all.Details, fmt.Sprintf("in %d of them: %s", shared[x], x))
		}
	}
	return append([]*Change{all}, d.out...)
}
