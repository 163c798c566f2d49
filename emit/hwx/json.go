package hwx

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
)

// hex is a number that JSON carries as a hexadecimal string: engine addresses
// and 64-bit sizes do not survive every reader's floating point.
type hex uint64

// MarshalText implements encoding.TextMarshaler.
func (h hex) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%#x", uint64(h)), nil }

type fileJSON struct {
	Size     int64         `json:"size"`
	Header   headerJSON    `json:"header"`
	Commands []commandJSON `json:"commands"`
	Gaps     []gapJSON     `json:"gaps,omitempty"`
}

type headerJSON struct {
	Magic      hex    `json:"magic"`
	CPUType    hex    `json:"cputype"`
	CPUSubtype uint32 `json:"cpusubtype"`
	FileType   uint32 `json:"filetype"`
	Flags      hex    `json:"flags"`
}

type gapJSON struct {
	Offset hex `json:"offset"`
	Size   int `json:"size"`
}

// commandJSON contains what every command has and one of the typed parts.
type commandJSON struct {
	Cmd     hex          `json:"cmd"`
	Offset  hex          `json:"offset"`
	Size    int64        `json:"size"`
	Segment *segmentJSON `json:"segment,omitempty"`
	Port    *portJSON    `json:"port,omitempty"`
	Program *programJSON `json:"program,omitempty"`
	Tensor  *tensorJSON  `json:"tensor,omitempty"`
	Banner  []string     `json:"banner,omitempty"`
	Raw     int          `json:"raw_bytes,omitempty"`
	// NumSymbols is the number of symbols in a symbol table.
	NumSymbols *int `json:"num_symbols,omitempty"`
}

type segmentJSON struct {
	Name     string        `json:"name"`
	VMAddr   hex           `json:"vmaddr"`
	VMSize   hex           `json:"vmsize"`
	FileOff  hex           `json:"fileoff"`
	FileSize hex           `json:"filesize"`
	Prot     string        `json:"prot"`
	Flags    hex           `json:"flags"`
	Sections []sectionJSON `json:"sections"`
}

type sectionJSON struct {
	Name      string `json:"name"`
	Addr      hex    `json:"addr"`
	Size      hex    `json:"size"`
	Offset    hex    `json:"offset"`
	Align     uint32 `json:"align"`
	Flags     hex    `json:"flags"`
	NumRelocs int    `json:"num_relocs"`
	// Present is how many bytes are present of a section that is cut by the end of the file.
	Present *uint64 `json:"present,omitempty"`
}

type portJSON struct {
	Name string `json:"name"`
	Addr hex    `json:"addr"`
}

type programJSON struct {
	Name       string      `json:"name"`
	Flavor     uint32      `json:"flavor"`
	Entry      hex         `json:"entry"`
	FirstWords int         `json:"first_words"`
	Tasks      uint32      `json:"tasks"`
	Bars       map[int]hex `json:"bars"`
	Unknown840 []uint32    `json:"unknown_840"`
}

type tensorJSON struct {
	Name       string    `json:"name"`
	Procedure  string    `json:"procedure"`
	Binding    string    `json:"binding"`
	Element    uint32    `json:"element"`
	Dims       [4]uint32 `json:"dims"`
	Strides    [4]uint64 `json:"strides"`
	BatchBytes uint64    `json:"batch_bytes"`
	Span       uint64    `json:"span"`
}

type symbolJSON struct {
	Name    string `json:"name"`
	Type    hex    `json:"type"`
	Section uint8  `json:"section"`
	Desc    uint16 `json:"desc"`
	Value   hex    `json:"value"`
}

// SymbolView is the JSON form of a symbol with the meaning of its numbers.
type SymbolView struct {
	symbolJSON
	Kind        string `json:"kind"`                   // "section", "shape", "element type", "absolute"
	SectionName string `json:"section_name,omitempty"` // segment and section, of Section
	Live        bool   `json:"live,omitempty"`         // of kernel tiles and inputs
}

// symbolKinds names the types of symbols.
var symbolKinds = map[uint8]string{
	SymSection:  "section",
	SymShape:    "shape",
	SymType:     "element type",
	symAbsolute: "absolute",
}

// SymbolViews returns the JSON forms of the symbols, in the order of Symbols.
func (f *File) SymbolViews() iter.Seq[SymbolView] {
	sections := f.Sections()
	return func(yield func(SymbolView) bool) {
		for _, s := range f.Symbols() {
			v := SymbolView{
				symbolJSON: symbolJSON{
					Name:    s.Name,
					Type:    hex(s.Type),
					Section: s.Sect,
					Desc:    s.Desc,
					Value:   hex(s.Value),
				},
				Kind: symbolKinds[s.Type],
				Live: s.Type == SymSection && s.Desc == DescLive,
			}
			if v.Kind == "" {
				v.Kind = fmt.Sprintf("type %#x", s.Type)
			}
			if s.Sect > 0 && int(s.Sect) <= len(sections) {
				c := sections[s.Sect-1]
				v.SectionName = printable(c.Segment.String() + "," + c.Name.String())
			}
			if !yield(v) {
				return
			}
		}
	}
}

// HeadersJSON returns the content of DumpHeaders as indented JSON with a line end. Keys keep
// their order; addresses, offsets and sizes of segments are hexadecimal strings.
func HeadersJSON(f *File) ([]byte, error) {
	at, size, err := f.offsets()
	if err != nil {
		return nil, err
	}
	h := f.Header
	v := fileJSON{
		Size: f.Size,
		Header: headerJSON{
			Magic:      Magic,
			CPUType:    hex(h.CPUType),
			CPUSubtype: h.CPUSubtype,
			FileType:   h.FileType,
			Flags:      hex(h.Flags),
		},
	}
	for i, c := range f.Commands {
		j := commandJSON{Cmd: hex(c.Kind()), Offset: hex(at[i]), Size: size[i]}
		switch c := c.(type) {
		case *Segment:
			j.Segment = c.view()
		case *Port:
			j.Port = &portJSON{c.Name, hex(c.Addr)}
		case *Program:
			j.Program = c.view()
		case *Tensor:
			j.Tensor = &tensorJSON{
				Name:       c.Name,
				Procedure:  c.Procedure,
				Binding:    bindingName(c.Binding),
				Element:    c.Element,
				Dims:       c.Dims,
				Strides:    c.Strides,
				BatchBytes: c.BatchBytes,
				Span:       c.Span,
			}
		case *Ident:
			j.Banner = strings.Split(strings.TrimSuffix(c.Text, "\n"), "\n")
		case *Symtab:
			n := len(c.Symbols)
			j.NumSymbols = &n
		case *Raw:
			j.Raw = len(c.Data)
		}
		v.Commands = append(v.Commands, j)
	}
	for _, g := range f.Gaps {
		v.Gaps = append(v.Gaps, gapJSON{hex(g.Off), len(g.Data)})
	}
	b, err := json.MarshalIndent(v, "", " ")
	return append(b, '\n'), err
}

func (s *Segment) view() *segmentJSON {
	j := &segmentJSON{
		Name:     s.Name.String(),
		VMAddr:   hex(s.VMAddr),
		VMSize:   hex(s.VMSize),
		FileOff:  hex(s.FileOff),
		FileSize: hex(s.FileSize),
		Prot:     protection(s.InitProt),
		Flags:    hex(s.Flags),
		Sections: []sectionJSON{},
	}
	for _, c := range s.Sections {
		q := sectionJSON{
			Name:      c.Name.String(),
			Addr:      hex(c.Addr),
			Size:      hex(c.Size),
			Offset:    hex(c.Offset),
			Align:     c.Align,
			Flags:     hex(c.Flags),
			NumRelocs: len(c.Relocs),
		}
		if n := c.Present(); c.Parts != nil && n != c.Size {
			q.Present = &n
		}
		j.Sections = append(j.Sections, q)
	}
	return j
}

func (p *Program) view() *programJSON {
	j := &programJSON{
		Name:       p.Name,
		Flavor:     p.Flavor,
		Entry:      hex(p.Entry),
		FirstWords: p.FirstWords(),
		Tasks:      p.Tasks,
		Bars:       map[int]hex{},
		Unknown840: p.Unknown840,
	}
	for i, a := range p.Bars {
		if a != 0 {
			j.Bars[i] = hex(a)
		}
	}
	return j
}
