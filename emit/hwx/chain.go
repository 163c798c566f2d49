package hwx

import "fmt"

// registerBlocks are the h13 register blocks that a task may write.
var registerBlocks = [...]struct {
	from, words uint32
	name        string
}{
	{0x00000, 16, "common"},
	{0x04800, 18, "L2"},
	{0x08800, 4, "planar engine"},
	{0x0c800, 5, "neural engine"},
	{0x13800, 28, "tile DMA source"},
	{0x17800, 7, "tile DMA destination"},
	{0x1f800, 62, "kernel DMA"},
}

// Words of a task: its header, and the largest size of the next one that a header can state.
const (
	taskHeader   = 10
	maxTaskWords = 512
)

// tasks walks the chain of every procedure: header word 7 is the next task's offset in the text, bits 24 to 16 of word
// 1 its number of words minus one. Packed tasks follow each other.
func (v *validator) tasks() {
	if formOf(v.f.Header.CPUSubtype) == nil {
		return
	}
	stream := v.f.Text()
	seen := map[uint64]bool{}
	for _, p := range v.f.Procedures() {
		text, off, ok := stream.Of(p)
		switch {
		case !ok:
		case p.Program.Packed != nil:
			v.packed(&p, text, uint64(off), seen)
		default:
			n, err := walk(text, uint64(off), p.FirstWords, seen)
			v.rule(err == nil, "procedure %q: %w", p.Name, err)
			v.rule(err != nil || n == p.Tasks, "procedure %q names %d tasks, its chain has %d", p.Name, p.Tasks, n)
		}
	}
}

// walk counts the tasks from off on. seen contains the offsets of all tasks met so far, in this chain or another one.
func walk(text []byte, off uint64, words int, seen map[uint64]bool) (n int, err error) {
	for {
		if off%TaskAlign != 0 {
			return n, fmt.Errorf("task %d at %#x is not aligned to %#x bytes", n, off, TaskAlign)
		}
		if seen[off] {
			return n, fmt.Errorf("task %d at %#x is already in a chain: a loop, or two procedures in one chain", n, off)
		}
		seen[off] = true
		if words < taskHeader || words > maxTaskWords {
			return n, fmt.Errorf("task %d at %#x has %d words, want %d to %d", n, off, words, taskHeader, maxTaskWords)
		}
		if off > uint64(len(text)) || uint64(words)*4 > uint64(len(text))-off {
			return n, fmt.Errorf("task %d at %#x of %d words runs past the text (%#x bytes)", n, off, words, len(text))
		}
		task := text[off : off+4*uint64(words)]
		if err := checkRecords(task); err != nil {
			return n, fmt.Errorf("task %d at %#x: %w", n, off, err)
		}
		n++
		next := uint64(le.Uint32(task[28:]))
		if next == 0 {
			return n, nil
		}
		words = int(le.Uint32(task[4:])>>16&0x1ff) + 1
		off = next
	}
}

// checkRecords checks that the task's records end with the task and write only registers that exist.
func checkRecords(task []byte) error {
	word := func(i int) uint32 { return le.Uint32(task[4*i:]) }
	words, p := len(task)/4, taskHeader
	if word(9)&3 == 3 {
		p++
	}
	for p < words {
		h := word(p)
		count, addr := h>>26+1, h&0x3ffffff
		if p+1+int(count) > words {
			return fmt.Errorf("record at word %d of %d values runs past the task's %d words", p, count, words)
		}
		known := false
		for _, b := range registerBlocks {
			known = known || addr >= b.from && addr+4*count <= b.from+4*b.words
		}
		if !known {
			return fmt.Errorf("record at word %d writes registers %#x to %#x, outside every block", p, addr, addr+
				4*count)
		}
		p += 1 + int(count)
	}
	return nil
}
