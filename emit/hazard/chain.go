package hazard

import (
	"encoding/binary"

	"github.com/zinc-compiler/zinc/lower/td"
)

// sizes returns the field that states the size of a task, and the least and the largest size.
func sizes(c *td.Codec) (stated td.Field, least, most int) {
	least = c.HeaderWords(td.New())
	if c.Linked {
		return td.NextSize, least, int(td.NextSize.Row().Max()) + 1
	}
	return td.TaskWords, least, int(td.TaskWords.Row().Max())
}

// chain walks the tasks of the procedure and looks at each. It ends where the
// next task cannot be found or read.
func (c *checker) chain(seen map[int]bool) {
	c.task = 0
	text, off, ok := c.text.Of(c.proc)
	if !ok {
		c.find("Procedure.Entry", int64(c.proc.Entry), int64(len(text)), "the entry is not in __TEXT,__text")
		return
	}
	words := c.proc.FirstWords
	stated, least, most := sizes(c.codec)
	// The fields with the size and the address of the current task.
	sizeField, pointerField := "Procedure.FirstWords", "Procedure.Entry"
	t, ws := td.New(), make([]uint32, most)
	for {
		c.report.Tasks++
		blame := *c // the task that names this one, or this one if it states its own size
		if c.task > 0 && c.codec.Linked {
			blame.task = c.task - 1
		} else {
			blame.off = off
		}
		if !c.codec.Linked {
			words, sizeField = c.codec.SizeAt(text, off, words), stated.String()
		}
		last := c.off
		if !blame.placed(seen, off, words, least, most, len(text), last, pointerField, sizeField, c.task > 0) {
			return
		}
		seen[off] = true
		ws = ws[:words]
		for i := range ws {
			ws[i] = binary.LittleEndian.Uint32(text[off+4*i:])
		}
		if err := c.codec.DecodeInto(t, ws); err != nil {
			blame.find(sizeField, int64(words), int64(most), "task %d cannot have this size: %v", c.task, err)
			return
		}
		c.off = off
		next, size, more := c.codec.Next(t, off, words)
		if !c.codec.Linked { // the container says how many tasks follow each other
			more = c.task+1 < c.proc.Tasks
		}
		// Up to the next multiple, or the next task, nothing follows a task.
		end := off + 4*words
		stop := min(len(text), c.codec.AlignUp(end))
		if more && next > int64(off) {
			stop = int(min(int64(stop), next))
		}
		for p := end; p < stop; p++ {
			if text[p] != 0 {
				blame.find(sizeField, int64(words), int64(words+(p-end)/4+1),
					"words follow the end of task %d: its size is at least the limit", c.task)
				break
			}
		}
		c.marks(t, !more)
		c.step(t)
		c.task++
		if !more {
			break
		}
		if next < int64(end) {
			c.task--
			c.findField(td.NextPointer, next, int64(end), "the next task begins before this one ends")
			return
		}
		off, words = int(next), size
		sizeField, pointerField = stated.String(), td.NextPointer.String()
	}
	if c.task != c.proc.Tasks {
		n := int64(c.task)
		c.task--
		c.find("Procedure.Tasks", int64(c.proc.Tasks), n,
			"the command names another number of tasks than the chain has")
	}
}

// placed checks that a task of the given number of words may be at off, where the previous task, at last, says that it
// is; first tasks have no previous one.
func (c *checker) placed(seen map[int]bool, off, words, least, most, size, last int, pointer, length string,
	follows bool) bool {
	switch {
	case off%c.codec.Align != 0:
		c.find(pointer, int64(off), int64(c.codec.Align), "a task begins at a multiple of the limit")
	case seen[off] || follows && off <= last:
		c.find(pointer, int64(off), int64(last),
			"the chain returns to a task that is already in a chain, or runs backwards")
	case words < least || words > most:
		c.find(length, int64(words), int64(most), "a task has at least %d words", least)
	case off > size || 4*words > size-off:
		c.find(length, int64(off)+4*int64(words), int64(size), "the task runs past the task section")
	default:
		return true
	}
	return false
}

// marks checks the fields of a task that describe its position in the chain.
func (c *checker) marks(t *td.Task, last bool) {
	if got := t.Int(td.TID); got != c.task&0xffff {
		c.findField(td.TID, int64(got), int64(c.task), "the index is not the task's place in its chain")
	}
	if t.On(td.EON) != last {
		c.findField(td.EON, int64(t.Get(td.EON)), 1, "only the last task has the mark of the last task")
	}
	if last && t.Get(td.NextSize) != 0 {
		c.findField(td.NextSize, int64(t.Get(td.NextSize)), 0, "the last task names the size of a next one")
	}
}
