package compare

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/lower/td"
)

// maxWords bounds the reported words of one task.
const maxWords = 32

// wordSides splits both sides into tasks. If the tasks of one side cannot be separated, it uses a procedure with the
// same number of tasks at the same offset of the other side.
func (p *pairing) wordSides() (a, b []chain) {
	a, b = p.a.wordChains(), p.b.wordChains()
	to, _ := matchBy(a, b, func(c *chain) string { return c.name })
	for i, j := range to {
		if j < 0 || a[i].entry != b[j].entry || a[i].extent != b[j].extent || a[i].stated != b[j].stated {
			continue
		}
		switch {
		case a[i].bounded == byNothing && b[j].bounded < byOther:
			a[i].like(&b[j], p.a.file.TextBytes())
		case b[j].bounded == byNothing && a[i].bounded < byOther:
			b[j].like(&a[i], p.b.file.TextBytes())
		}
	}
	for _, x := range []struct {
		s  *Side
		cs []chain
	}{{p.a, a}, {p.b, b}} {
		for i := range x.cs {
			for k := range x.cs[i].tasks {
				x.s.identifyWords(&x.cs[i], k)
			}
		}
	}
	return a, b
}

// like splits a procedure in the same way as another.
func (c *chain) like(other *chain, text []byte) {
	var tasks []task
	for i := range other.tasks {
		at, n := other.tasks[i].off, len(other.tasks[i].words)
		if at+n > len(text) {
			return
		}
		tasks = append(tasks, task{off: at, words: text[at : at+n]})
	}
	c.tasks, c.bounded = tasks, byOther
}

// boundary is the source of the tasks' boundaries.
type boundary int

const (
	byDatabase boundary = iota
	byChain
	bySize
	byOther
	byNothing
)

// boundaries describes each boundary.
var boundaries = [...]string{
	byDatabase: "the debug database states where tasks begin",
	byChain: "words 1 and 7 of each task lead to the next, as in version 7, through as many tasks as the " +
		"container states; the bits that number and link tasks are ignored",
	bySize: "word 0 of each task states its size, as in packed streams, and the next one follows it, as many as the " +
		"container states; the bits that number tasks are ignored",
	byOther:   "tasks begin where those of the procedure at the same offset of the other side do",
	byNothing: "only the size of the first task of each procedure is known; the tasks after it are compared as one",
}

// links are the bits of a task's header that number it and lead to the next, by word, in version 7.
var links = func() map[int]uint32 {
	m := map[int]uint32{}
	for i := range fieldTable {
		if at := fieldTable[i].Place(td.V7); at.Block == td.Header && fieldTable[i].Kind == td.Chain {
			m[at.Word] |= maskOf(at)
		}
	}
	return m
}()

func maskOf(at td.Place) uint32 { return uint32(1<<at.Width-1) << at.Bit }

// packedLinks returns the bits of a packed task that say where it is in its stream, by word. They are in its header and
// in records, whose words depend on the task; nil if the version is not known or the words are no task.
func (s *Side) packedLinks(words []byte) map[int]uint32 {
	codec, err := td.CodecFor(s.file.TaskVersion())
	if err != nil {
		return nil
	}
	ws := make([]uint32, len(words)/4)
	for i := range ws {
		ws[i] = binary.LittleEndian.Uint32(words[4*i:])
	}
	t, err := codec.DecodeWords(ws)
	if err != nil {
		return nil
	}
	m := map[int]uint32{}
	for i := range fieldTable {
		if w, ok := codec.WordIndex(t, td.Field(i)); ok && fieldTable[i].Kind == td.Chain {
			m[w] |= maskOf(fieldTable[i].Place(codec))
		}
	}
	return m
}

// wordChains splits the task section into tasks without knowing their fields.
func (s *Side) wordChains() (out []chain) {
	procedures, stream := s.file.Procedures(), s.file.Text()
	var entries []int // sorted
	for _, p := range procedures {
		if _, off, ok := stream.Of(p); ok {
			entries = append(entries, off)
		}
	}
	slices.Sort(entries)
	for _, p := range procedures {
		text, off, ok := stream.Of(p)
		c := chain{name: p.Name}
		if ok {
			end := len(text)
			if i, _ := slices.BinarySearch(entries, off+1); i < len(entries) {
				end = entries[i]
			}
			c.entry, c.extent, c.stated = off, end-off, int(p.Tasks)
			s.part(&c, p, text, off, end)
		}
		out = append(out, c)
	}
	return out
}

// part finds the tasks of a procedure whose words are from off to end.
func (s *Side) part(c *chain, p hwx.Procedure, text []byte, off, end int) {
	walked, packed := follow(text, off, int(p.FirstWords), int(p.Tasks)), p.Program.Packed != nil
	if packed {
		walked = followPacked(text, off, p.Tasks)
	}
	add := func(at, n int) {
		t := task{off: at, words: text[at : at+n]}
		switch {
		case walked == nil:
		case packed:
			t.links = s.packedLinks(t.words)
		default:
			t.links = links
		}
		c.tasks = append(c.tasks, t)
	}
	if s.told != nil {
		ts := s.told.Tasks // by offset
		at := sort.Search(len(ts), func(i int) bool { return ts[i].Offset >= uint64(off) })
		for _, x := range ts[at:] {
			if x.Offset >= uint64(end) {
				break
			}
			if 4*uint64(x.Words) <= uint64(len(text))-x.Offset {
				add(int(x.Offset), 4*int(x.Words))
			}
		}
		if len(c.tasks) > 0 {
			return
		}
	}
	if walked != nil {
		if c.bounded = byChain; packed {
			c.bounded = bySize
		}
		for _, x := range walked {
			add(x[0], x[1])
		}
		return
	}
	c.bounded = byNothing
	first := min(4*int(p.FirstWords), end-off)
	add(off, first)
	rest := end
	for rest > off+first && text[rest-1] == 0 {
		rest-- // padding
	}
	if at, n := off+first, (rest-off-first+3)&^3; n > 0 {
		add(at, min(n, end-at))
	}
}

// follow follows the words that lead from task to task in version 7 and returns offset and
// size of each, nil unless they lead through as many as the container states.
func follow(text []byte, off, words, tasks int) (out [][2]int) {
	next, size := td.NextPointer.Row().Place(td.V7), td.NextSize.Row().Place(td.V7)
	last := -1
	for off > last && words >= 10 && off <= len(text) && 4*words <= len(text)-off && len(out) < tasks {
		out = append(out, [2]int{off, 4 * words})
		field := func(p td.Place) int {
			w := binary.LittleEndian.Uint32(text[off+4*p.Word:])
			return int(w >> p.Bit & (1<<p.Width - 1))
		}
		to := field(next)
		if to == 0 {
			if len(out) == tasks {
				return out
			}
			return nil
		}
		words, last, off = field(size)+1, off, to
	}
	return nil
}

// followPacked follows tasks that state their own sizes and returns offset and size of each, nil unless there are as
// many as the container states.
func followPacked(text []byte, off, tasks int) (out [][2]int) {
	for len(out) < tasks {
		n := td.V11.SizeAt(text, off, 0)
		if n == 0 || 4*n > len(text)-off {
			return nil
		}
		out = append(out, [2]int{off, 4 * n})
		off = td.V11.AlignUp(off + 4*n)
	}
	return out
}

// identifyWords sets the key and the subject of a task.
func (s *Side) identifyWords(c *chain, i int) {
	t := &c.tasks[i]
	t.index, t.procedure = i, c.name
	t.subject = "task " + strconv.Itoa(i) + " of " + c.name
	if c.bounded == byNothing && i > 0 {
		t.subject = "tasks after the first of " + c.name
	}
	if x := s.origin(t); x != nil && s.db != nil {
		t.key = s.key(x.Node) + "\x02" + x.Rule
		return
	}
	h := fnv.New64a()
	var b [4]byte
	for w := range len(t.words) / 4 {
		binary.LittleEndian.PutUint32(b[:], t.word(w, t.links))
		h.Write(b[:])
	}
	t.key = strconv.FormatUint(h.Sum64(), 16)
}

// word returns a word, without the bits that number and link the task.
func (t *task) word(w int, links map[int]uint32) uint32 {
	return binary.LittleEndian.Uint32(t.words[4*w:]) &^ links[w]
}

// howBounded says how the tasks of both sides were separated.
func howBounded(a, b []chain) string {
	var how []string
	for _, c := range slices.Concat(a, b) {
		if x := boundaries[c.bounded]; !slices.Contains(how, x) {
			how = append(how, x)
		}
	}
	return strings.Join(how, "; ")
}

// size is what a change says of a task that only one side has.
func (t *task) size() []string {
	if t.Task != nil {
		return nil
	}
	return []string{diag.Count(len(t.words)/4, "word", "words")}
}

// wordDetails lists the words in which two tasks differ.
func wordDetails(a, b *task) (out []string) {
	if len(a.words) != len(b.words) {
		out = append(out, fmt.Sprintf("%d words -> %d words", len(a.words)/4, len(b.words)/4))
	}
	n, of, and := 0, a.links, b.links
	if of == nil || and == nil { // of one side they are not known
		of, and = nil, nil
	}
	for w := range min(len(a.words), len(b.words)) / 4 {
		x, y := a.word(w, of), b.word(w, and)
		if x == y {
			continue
		}
		if n++; n <= maxWords {
			out = append(out, fmt.Sprintf("word %d: %#08x -> %#08x", w, x, y))
		}
	}
	if n > maxWords {
		out = append(out, fmt.Sprintf("and %d words more", n-maxWords))
	}
	return out
}

// wordOwner names words of the task.
func (t *task) wordOwner(at, n int) string {
	if lo, hi := at/4, (at+n-1)/4; lo != hi {
		return fmt.Sprintf("%s: words %d to %d", t.title(), lo, hi)
	}
	return fmt.Sprintf("%s: word %d", t.title(), at/4)
}
