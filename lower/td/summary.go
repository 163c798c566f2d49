package td

import (
	"fmt"
	"strings"
)

// Summary describes briefly what a task does, with the names of the field table.
type Summary struct {
	Engine    string `json:"engine"`
	Operation string `json:"operation"`
	Shape     string `json:"shape"`
	Buffers   string `json:"buffers"`
}

// String is the description in one line.
func (s Summary) String() string {
	return s.Engine + ", " + s.Operation + "; " + s.Shape + "; " + s.Buffers
}

// Work says what the task computes from which tensor to which, without buffers.
func (s Summary) Work() string {
	from, to, _ := strings.Cut(s.Shape, " -> ")
	format, _, _ := strings.Cut(from, " ")
	return s.Operation + ", " + from + " to " + strings.TrimPrefix(to, format+" ")
}

// Word returns the table's name for the value of a field, or the value itself.
func (t *Task) Word(f Field) string {
	v := t.Get(f)
	if s := f.Row().Meaning(v); s != "" {
		return s
	}
	return fmt.Sprintf("%s %d", f, v)
}

// Summary describes the task.
func (t *Task) Summary() Summary {
	s := Summary{Engine: "neural engine"}
	ops := []string{}
	if planar := t.Planar(); planar == NotPlanar {
		ops = append(ops, t.Word(NEOp))
		if t.On(Nonlinear) {
			ops = append(ops, t.Word(Nonlinear))
		}
	} else {
		s.Engine = "planar engine"
		ops = append(ops, t.Word(PlanarType))
		switch {
		case planar.Reduces():
			ops = append(ops, t.Word(PoolMode))
		case planar == PlanarTwo || planar == PlanarPair:
			ops = append(ops, t.Word(PEOp))
		}
	}
	if t.On(TDSkip) {
		ops = append(ops, TDSkip.Row().Doc)
	}
	s.Operation = strings.Join(ops, ", ")

	s.Shape = fmt.Sprintf("%s %dx%dx%d", t.Word(InFmt), t.Get(Cin), t.Get(Hin), t.Get(Win))
	if t.On(Source2DMA) || t.On(PETwo) {
		s.Shape += " and " + t.Word(In2Fmt)
	}
	s.Shape += fmt.Sprintf(" -> %s %dx%dx%d", t.Word(OutFmt), t.Get(Cout), t.Get(Hout), t.Get(Wout))
	for _, x := range []struct {
		name string
		f    Field
	}{{"groups", NumGroups}, {"depth", Din}} {
		if n := t.Get(x.f); n > 1 {
			s.Shape += fmt.Sprintf(", %s %d", x.name, n)
		}
	}
	if t.Get(Kw) > 1 || t.Get(Kh) > 1 {
		s.Shape += fmt.Sprintf(", kernel %dx%d", t.Get(Kh), t.Get(Kw))
	}

	from := t.buffer(StreamSource1)
	if t.On(Source2DMA) || t.On(PETwo) {
		from += " and " + t.buffer(StreamSource2)
	}
	s.Buffers = from + " -> " + t.buffer(StreamResult)
	if lo, hi := t.Lanes(); hi > lo {
		s.Buffers += fmt.Sprintf("; coefficients bar %d+%#x, %#x bytes", t.Get(KBase0), lo, hi-lo)
	}
	return s
}

// buffer describes where a source or the result is: with DMA in the buffer of a buffer-access register, else in L2.
func (t *Task) buffer(stream int) string {
	s := &Streams[stream]
	switch {
	case !s.Moved(t):
		return fmt.Sprintf("L2 %#x", t.Get(s.L2Base))
	case !t.On(s.BarValid):
		return fmt.Sprintf("no bar+%#x", t.Get(s.Base))
	}
	return fmt.Sprintf("bar %d+%#x", t.Get(s.Bar), t.Get(s.Base))
}

// Lanes returns the range of the kernel buffer that the task's coefficient lanes stream, empty if there are none.
func (t *Task) Lanes() (from, to uint64) {
	for p := range t.LaneParts() {
		a, b := uint64(p.From), uint64(p.To)
		if from == to {
			from, to = a, b
		}
		from, to = min(from, a), max(to, b)
	}
	return from, to
}
