package cli

import (
	"fmt"

	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/lower/td"
)

// recordJSON is the JSON form of one record.
type recordJSON struct {
	Task     int    `json:"task"`
	Group    string `json:"group"`
	Register uint64 `json:"register"`
	Slot     uint32 `json:"slot"` // key, 0 of a value
	Resolved bool   `json:"resolved"`
	Operand  uint64 `json:"operand"`
	Bar      *int   `json:"bar"` // null for none
	Offset   uint32 `json:"offset"`
}

// records prints a stream of 44-byte records.
func (c *dumpCommand) records(path string, b []byte) error {
	rs, err := td.DecodeRecords(b)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !c.json {
		return td.PrintRecords(c.out, rs)
	}
	out := make([]recordJSON, len(rs))
	for i, r := range rs {
		out[i] = recordJSON{r.Task, td.Groups[r.Group].Name, r.Register, uint32(r.Slot), r.Resolved, r.Operand, nil, r.Offset}
		if r.Bar != td.NoBar {
			out[i].Bar = &rs[i].Bar
		}
	}
	return jsonform.Write(c.out, out)
}

// images prints version-10 images as the text form of their tasks. What the
// records carry is zero in them.
func (c *dumpCommand) images(path string, b []byte) error {
	images, err := td.DecodeImages(b)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p := td.Program{Name: "images"}
	for i, img := range images {
		t, err := td.DecodeV10(img)
		if err != nil {
			return fmt.Errorf("%s: image %d: %w", path, i, err)
		}
		p.Tasks = append(p.Tasks, t)
	}
	return c.programs([]td.Program{p})
}

// tasks prints the text form of tasks, or its JSON.
func (c *dumpCommand) tasks(path string, b []byte) error {
	ps, err := td.ReadText(string(b))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return c.programs(ps)
}

func (c *dumpCommand) programs(ps []td.Program) error {
	if !c.json {
		return td.WriteText(c.out, ps)
	}
	out := []procedureJSON{}
	for _, p := range ps {
		j := procedureJSON{Name: p.Name, Tasks: []taskJSON{}}
		for _, t := range p.Tasks {
			j.Tasks = append(j.Tasks, taskJSON{Words: t.Words(), Fields: t.Values()})
		}
		out = append(out, j)
	}
	return jsonform.Write(c.out, out)
}
