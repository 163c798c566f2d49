package explore

import (
	"encoding/binary"
	"fmt"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// taskRow is one task in the list of all.
type taskRow struct {
	Task      int    `json:"task"` // in the list
	Procedure string `json:"procedure"`
	Index     uint32 `json:"index"` // in the procedure's chain
	Offset    uint64 `json:"offset"`
	Words     uint32 `json:"words"`
	Op        string `json:"op"` // first result of the operation it works for
	Rule      string `json:"rule"`
	Kind      string `json:"kind,omitempty"`
	Attested  bool   `json:"attested"`
	// Does says in one sentence what it computes, what it takes and what limits it; "" if its words do not decode.
	Does string    `json:"does,omitempty"`
	Time cost.Time `json:"us"`
	// Statements lists its origins, as far as Brief finds them.
	Statements []int `json:"statements"`
}

// briefNodes bounds the nodes that are searched for the origins of a row.
const briefNodes = 48

// taskRows lists the tasks of a debug database with their data from the reports of the functions.
func taskRows(db *provenance.DB, reports []*compile.Report) ([]taskRow, error) {
	type place struct {
		procedure string
		index     int
	}
	told := map[place]*compile.TaskReport{}
	for _, r := range reports {
		for i := range r.TaskList {
			t := &r.TaskList[i]
			told[place{t.Procedure, t.Task}] = t
		}
	}
	rows := make([]taskRow, 0, len(db.Tasks))
	for i := range db.Tasks {
		t := &db.Tasks[i]
		x := taskRow{
			Task:      i,
			Procedure: db.Procedures[t.Procedure].Name,
			Index:     t.Index,
			Offset:    t.Offset,
			Words:     t.Words,
			Rule:      t.Rule,
		}
		if p := told[place{x.Procedure, int(t.Index)}]; p != nil {
			x.Op, x.Kind, x.Attested = p.Op, p.Kind, p.Attested
		}
		x.Statements = db.Brief(provenance.Ref{Node: t.Node, Rule: t.Rule}, briefNodes).Statements
		if x.Statements == nil {
			x.Statements = []int{}
		}
		rows = append(rows, x)
	}
	return rows, nil
}

// describeTasks says what each task does, by its words, and what it takes on the target by the model of package cost.
func (v *view) describeTasks(on *target.Table) {
	for i := range v.tasks {
		t, _, err := v.decode(i)
		if err != nil {
			continue
		}
		e := cost.Estimate(t, on)
		v.tasks[i].Does, v.tasks[i].Time = e.Sentence(t), e.Time
	}
}

// fieldView is one field of a task.
type fieldView struct {
	Name  string `json:"name"`
	Block string `json:"block"`
	Word  int    `json:"word"`    // of the task
	Addr  uint32 `json:"address"` // register byte address; of the header, 4 * word
	Bit   uint8  `json:"bit"`
	Width uint8  `json:"width"`
	Unit  uint32 `json:"unit"`
	Value uint32 `json:"value"`
	Text  string `json:"text"`
	Known string `json:"known"` // the source of the field's meaning
	Doc   string `json:"doc"`
}

// taskView is one task in full.
type taskView struct {
	taskRow
	Source     provenance.SourceView `json:"source"`
	Links      []provenance.LinkView `json:"links"`
	WordValues []uint32              `json:"word_values"`
	Fields     []fieldView           `json:"fields"`
}

// task returns a task in full, its fields in the order of its words.
func (v *view) task(i int) (*taskView, error) {
	row := v.tasks[i]
	t, words, err := v.decode(i)
	if err != nil {
		return nil, err
	}
	p := &v.db.Tasks[i]
	return &taskView{taskRow: row, Source: v.db.SourceView(p.Ref()), Links: v.db.Links(p), WordValues: words,
		Fields: fields(v.codec, t)}, nil
}

// decode returns a task with its words.
func (v *view) decode(i int) (*td.Task, []uint32, error) {
	words, err := v.words(i)
	if err != nil {
		return nil, nil, err
	}
	if v.codec == nil {
		return nil, nil, fmt.Errorf("task %d: tasks of this generation are not decoded", i)
	}
	t, err := v.codec.DecodeWords(words)
	return t, words, err
}

func (v *view) words(i int) ([]uint32, error) {
	row := &v.tasks[i]
	end := row.Offset + 4*uint64(row.Words)
	if end > uint64(len(v.text)) {
		return nil, fmt.Errorf("task %d: bytes %#x to %#x exceed the task section of %#x bytes", i, row.Offset, end,
			len(v.text))
	}
	words := make([]uint32, row.Words)
	for k := range words {
		words[k] = binary.LittleEndian.Uint32(v.text[row.Offset+4*uint64(k):])
	}
	return words, nil
}

func fields(codec *td.Codec, t *td.Task) []fieldView {
	var out []fieldView
	for r := range codec.Readings(t, true) {
		if r.Known == td.Unknown && r.Value == 0 {
			continue
		}
		out = append(out, fieldView{
			Name:  r.Name,
			Block: r.At.Block.Name,
			Word:  r.Word,
			Addr:  r.At.Addr(),
			Bit:   r.At.Bit,
			Width: r.At.Width,
			Unit:  r.Unit,
			Value: r.Value,
			Text:  r.Describe(r.Value),
			Known: r.Known.String(),
			Doc:   r.Doc,
		})
	}
	return out
}
