package cli

import (
	"encoding/json"
	"fmt"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/provenance"
)

// containerJSON is the JSON form of a container: what package hwx gives, and
// the tasks.
type containerJSON struct {
	Container  json.RawMessage `json:"container"`
	Procedures []procedureJSON `json:"procedures"`
	// Statements is what Tasks[].Source counts into, with --source.
	Statements []provenance.StatementView `json:"statements,omitempty"`
}

type procedureJSON struct {
	Name  string     `json:"name"`
	Note  string     `json:"note,omitempty"` // why there are no tasks
	Tasks []taskJSON `json:"tasks"`
}

type taskJSON struct {
	Offset int               `json:"offset"` // in bytes, in the task section
	Words  int               `json:"words"`
	Fields map[string]uint32 `json:"fields"` // those that are not zero
	// Source is what the debug database says of the task, with --source.
	Source *provenance.TaskView `json:"source,omitempty"`
}

func (c *dumpCommand) container(path string, b []byte) error {
	f, err := hwx.Read(b)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	chains := make([]chain, 0, 1)
	for _, p := range f.Procedures() {
		ch, err := decodeChain(f, p)
		if err != nil {
			return fmt.Errorf("%s: procedure %s: %w", path, p.Name, err)
		}
		chains = append(chains, ch)
	}
	var db *provenance.DB
	if c.source {
		if db, err = c.openDebug(path, b); err != nil {
			return err
		}
	}
	if c.json {
		return c.containerJSON(f, chains, db)
	}
	if err := hwx.Dump(c.out, f); err != nil {
		return err
	}
	for _, ch := range chains {
		fmt.Fprintf(c.out, "\nprocedure %s: %d tasks\n", ch.name, len(ch.tasks))
		if ch.note != "" {
			fmt.Fprintln(c.out, ch.note)
		}
		for i, t := range ch.tasks {
			fmt.Fprintf(c.out, "task %d at %#x, %d words\n", i, t.Off, t.Words())
			if db != nil {
				c.sourceOf(db, t.Off)
			}
			if err := td.Print(c.out, t.Task); err != nil {
				return err
			}
		}
	}
	return nil
}

// chain is the tasks of a procedure.
type chain struct {
	name, note string
	tasks      []td.Placed
}

// decodeChain decodes the tasks of a procedure, of a target whose tasks are
// known.
func decodeChain(f *hwx.File, p hwx.Procedure) (chain, error) {
	ch := chain{name: p.Name}
	if f.Header.CPUSubtype != hwx.SubtypeH13 {
		ch.note = fmt.Sprintf("the tasks of CPU subtype %d are not decoded: only h13's (%d) are known", f.Header.CPUSubtype, hwx.SubtypeH13)
		return ch, nil
	}
	text, off, ok := f.TextOf(p)
	if !ok {
		return ch, fmt.Errorf("its entry %#x is not in __TEXT,__text", p.Entry)
	}
	var err error
	ch.tasks, err = td.DecodeChain(text, off, p.FirstWords)
	return ch, err
}

func (c *dumpCommand) containerJSON(f *hwx.File, chains []chain, db *provenance.DB) error {
	raw, err := hwx.JSON(f)
	if err != nil {
		return err
	}
	out := containerJSON{Container: raw, Procedures: []procedureJSON{}}
	if db != nil {
		out.Statements = db.View().Statements
	}
	for _, ch := range chains {
		p := procedureJSON{Name: ch.name, Note: ch.note, Tasks: []taskJSON{}}
		for _, t := range ch.tasks {
			x := taskJSON{Offset: t.Off, Words: t.Words(), Fields: t.Values()}
			if db != nil {
				if i := db.TaskAt(uint64(t.Off)); i >= 0 {
					v := db.TaskView(i)
					x.Source = &v
				}
			}
			p.Tasks = append(p.Tasks, x)
		}
		out.Procedures = append(out.Procedures, p)
	}
	return jsonform.Write(c.out, out)
}
