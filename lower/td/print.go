package td

import (
	"bufio"
	"fmt"
	"io"
	"math"
)

// Print writes a task as text: one line a record, then one line a field that
// is not zero, so that a difference between two dumps names the field.
func Print(w io.Writer, t *Task) error {
	bw := bufio.NewWriter(w)
	fmt.Fprintf(bw, "task %d, %d words\n", t.Get(TID), t.Words())
	block := func(b *Block, first, count int) {
		for i := first; i < first+count; i++ {
			for _, f := range words[b][i] {
				if t.val[f] == 0 {
					continue
				}
				r := &table[f]
				fmt.Fprintf(bw, "    %-32s %s", r.Name, valueText(r, t.Get(f)))
				if r.Known >= Modelled {
					fmt.Fprintf(bw, "  (%s)", r.Known)
				}
				fmt.Fprintln(bw)
			}
		}
	}
	fmt.Fprintf(bw, "  header, %d words\n", t.HeaderWords())
	block(Header, 0, t.HeaderWords())
	for _, s := range t.spans() {
		b := blockOf(s)
		if b == nil {
			continue
		}
		fmt.Fprintf(bw, "  record %#07x x %d, %s\n", s.Addr, s.Count, b.Name)
		block(b, int(s.Addr-b.Base)/4, s.Count)
	}
	return bw.Flush()
}

func valueText(r *Row, v uint32) string {
	switch {
	case r.Name == "PE.FinalScale":
		return fmt.Sprintf("%g", math.Float32frombits(v))
	case r.Width == 1 || v < 10:
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%d (%#x)", v, v)
}

// Values returns the fields that are not zero in the registers the task
// writes, by name, for JSON.
func (t *Task) Values() map[string]uint32 {
	out := map[string]uint32{}
	for f := range table {
		if t.val[f] != 0 && t.Written(Field(f)) {
			out[table[f].Name] = t.Get(Field(f))
		}
	}
	return out
}
