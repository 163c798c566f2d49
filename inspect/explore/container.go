package explore

import (
	"fmt"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
)

// containerMap lists the parts of a container and their positions.
type containerMap struct {
	Size       int64           `json:"size"`
	Banner     string          `json:"banner"`
	Parts      []part          `json:"parts"`
	Procedures []procedurePart `json:"procedures"`
	Ports      int             `json:"ports"`
	Tensors    int             `json:"tensors"`
	Symbols    int             `json:"symbols"`
	Relocs     int             `json:"relocations"`

	constants int64 // file offset of the first constant byte
	text      int64 // of the task section
}

// part is a segment, or a section of one.
type part struct {
	Segment string `json:"segment"`
	Section string `json:"section"` // "" for the segment itself
	Address uint64 `json:"address"`
	Size    uint64 `json:"size"`
	Offset  int64  `json:"offset"` // in the file
	Bytes   uint64 `json:"bytes"`  // in the file; 0 for a window
	Relocs  int    `json:"relocations,omitempty"`
}

type procedurePart struct {
	Name  string `json:"name"`
	Entry uint64 `json:"entry"`
	Tasks int    `json:"tasks"`
	Bars  []bar  `json:"bars"`
}

type bar struct {
	Index   int    `json:"index"`
	Address uint64 `json:"address"`
}

func mapContainer(f *hwx.File, size int64) *containerMap {
	m := &containerMap{
		Size:      size,
		Banner:    f.Banner(),
		Ports:     len(f.Ports()),
		Tensors:   len(f.Tensors()),
		Symbols:   len(f.Symbols()),
		constants: -1,
	}
	for _, g := range f.Segments() {
		m.Parts = append(m.Parts, part{
			Segment: g.Name.String(),
			Address: g.VMAddr,
			Size:    g.VMSize,
			Offset:  int64(g.FileOff),
			Bytes:   g.FileSize,
		})
		for _, s := range g.Sections {
			p := part{
				Segment: g.Name.String(),
				Section: s.Name.String(),
				Address: s.Addr,
				Size:    s.Size,
				Offset:  int64(s.Offset),
				Relocs:  len(s.Relocs),
			}
			if s.Offset > 0 {
				p.Bytes = s.Size
			}
			m.Relocs += len(s.Relocs)
			m.Parts = append(m.Parts, p)
		}
	}
	if cs := f.ConstantSections(); len(cs) > 0 {
		m.constants = int64(cs[0].Offset)
	}
	if t := f.Section(hwx.SegText, hwx.SectText); t != nil {
		m.text = int64(t.Offset)
	}
	for _, p := range f.Procedures() {
		x := procedurePart{Name: p.Name, Entry: p.Entry, Tasks: p.Tasks, Bars: []bar{}}
		for i := range hwx.Bars {
			if a := p.Bars[i]; a != 0 {
				x.Bars = append(x.Bars, bar{i, a})
			}
		}
		m.Procedures = append(m.Procedures, x)
	}
	return m
}

// chainFunc is the chain of one function of the descriptor.
type chainFunc struct {
	Name       string    `json:"name"`
	Operations []chainOp `json:"operations"`
}

// chainOp is one operation of the descriptor.
type chainOp struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Detail string `json:"detail"`
	// Procedure is the procedure that an inference dispatches.
	Procedure string    `json:"procedure,omitempty"`
	Inputs    []operand `json:"inputs"`
	Outputs   []operand `json:"outputs"`
}

// operand is a value of the chain.
type operand struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Aperture string `json:"aperture"`
	Bytes    uint64 `json:"bytes"`
}

func chainOf(p *e5.Program) []chainFunc {
	out := make([]chainFunc, 0, len(p.Functions))
	for i := range p.Functions {
		f := &p.Functions[i]
		c := chainFunc{Name: f.Name, Operations: []chainOp{}}
		operands := func(ids []uint32) []operand {
			out := make([]operand, 0, len(ids))
			for _, id := range ids {
				o := &f.Operands[id]
				out = append(out, operand{
					Name:     o.Name,
					Type:     o.Desc.Storage.String() + fmt.Sprint(o.Desc.Dim),
					Aperture: o.Aperture.String(),
					Bytes:    o.Port.ByteSize,
				})
			}
			return out
		}
		for _, b := range f.Blocks {
			for k := range b.Operations {
				o := &b.Operations[k]
				c.Operations = append(c.Operations, chainOp{
					Name:      o.Name,
					Type:      o.Type.String(),
					Detail:    detail(o.Attrs),
					Procedure: procedureOf(o.Attrs),
					Inputs:    operands(o.Inputs),
					Outputs:   operands(o.Outputs),
				})
			}
		}
		out = append(out, c)
	}
	return out
}

func procedureOf(a e5.Attrs) string {
	if a, ok := a.(*e5.AneInferenceAttrs); ok {
		return a.ProcedureName
	}
	return ""
}

// detail describes an operation of the chain.
func detail(a e5.Attrs) string {
	switch a := a.(type) {
	case *e5.AneInferenceAttrs:
		return "procedure " + a.ProcedureName
	case *e5.CastAttrs:
		return fmt.Sprintf("%s to %s, %d channels a group", a.SrcDType, a.DstDType, max(a.ComponentPack, 1))
	case *e5.CpuInferenceAttrs:
		return fmt.Sprintf("entry %s, %d bytes of program, %d constants", a.Entry, len(a.Program), len(a.Constants))
	}
	return ""
}

// windows returns the size of the segments that are not in the file: surfaces and scratch.
func (m *containerMap) windows() (n uint64) {
	for _, p := range m.Parts {
		if p.Section == "" && p.Bytes == 0 && p.Segment != hwx.SegGuard {
			n += p.Size
		}
	}
	return n
}

// buffers returns the total size of the operands of the largest function, each counted once by its port.
func buffers(p []chainFunc) uint64 {
	var most uint64
	for _, f := range p {
		seen := map[string]bool{}
		var n uint64
		for _, o := range f.Operations {
			for _, list := range [][]operand{o.Inputs, o.Outputs} {
				for _, x := range list {
					if !seen[x.Name] {
						seen[x.Name] = true
						n += min(x.Bytes, 1<<48)
					}
				}
			}
		}
		most = max(most, n)
	}
	return most
}
