package td

import "slices"

// V7 is the codec of version 7, which h13 containers have: a header of ten or eleven words, then records, each of them
// a word with address and count and the words of consecutive registers of one block. No task lies on two pages (batches
// of 375 rows, public records: the task that would follow the one at 0x3c00 begins at 0x4000).
var V7 = &Codec{
	Version: 7, Name: "ZinAneTd<7>", Blocks: []*Block{Header, Kernel, Common, TileSrc, L2, PE, NE, TileDst},
	Align: 0x100, Page: 0x4000, Linked: true, layout: layoutV7, header: 10, form: formV7{}, FirstPort: 4,
}

// V7Full writes version 7 as the compilers that wrote every record whole. V7 reads it.
var V7Full = &Codec{
	Version: V7.Version, Name: V7.Name, Blocks: V7.Blocks, Align: V7.Align, Page: V7.Page, Linked: true, Older: true,
	layout: layoutV7, header: V7.header, form: formV7{older: true}, FirstPort: V7.FirstPort,
}

// wholeSpans are the records of tasks that have every block whole. shortSpans have 18 words of the kernel block, up to
// the last lane's configuration, then the twelve of its four streams.
var (
	wholeSpans = func() (out []Span) {
		for _, b := range V7.Blocks[1:] {
			out = append(out, Span{Addr: b.Base, Count: b.Words})
		}
		return out
	}()
	shortSpans = append([]Span{{Addr: Kernel.Base, Count: 18}, {Addr: Kernel.Base + 0xc8, Count: 12}},
		wholeSpans[1:]...)
)

// currentSpans returns the records that current compilers write: all blocks, the kernel block without its lanes'
// addresses and sizes if the task streams no coefficients.
func currentSpans(t *Task) []Span {
	if t.On(KernelOn) {
		return wholeSpans
	}
	return shortSpans
}

// formV7 is the form of the records of version 7.
type formV7 struct{ older bool }

// maxRecord is the largest number of words of a record.
const maxRecord = 64

func (f formV7) spans(t *Task) []Span {
	if f.older {
		return wholeSpans
	}
	return currentSpans(t)
}

func (formV7) head(s Span, _ []uint32) uint32 { return uint32(s.Count-1)<<26 | s.Addr }

func (formV7) read(head uint32) (Span, bool) {
	return Span{Addr: head & 0x3ffffff, Count: int(head>>26) + 1}, true
}

// keep returns a list of spans that is not nil and outlives the given one: one of the default lists, if it is equal to
// them.
func (formV7) keep(_ *Task, spans []Span) []Span {
	for _, l := range [...][]Span{shortSpans, wholeSpans} {
		if slices.Equal(spans, l) {
			return l
		}
	}
	return append([]Span{}, spans...)
}

func (formV7) padding(int, int) int { return 0 }
