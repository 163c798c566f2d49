package afpp

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
)

// hex is a number that JSON carries as a hexadecimal string: 64-bit addresses do
// not survive every reader's floating point.
type hex uint64

// MarshalText implements encoding.TextMarshaler.
func (h hex) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%#x", uint64(h)), nil }

type packageJSON struct {
	Version  hex           `json:"version"`
	Warnings []string      `json:"warnings,omitempty"`
	Programs []programJSON `json:"programs"`
}

type programJSON struct {
	Version    hex             `json:"version"`
	Identity   hex             `json:"identity"`
	Image      uint32          `json:"image_version"`
	Base       hex             `json:"window_base"`
	Size       hex             `json:"window_size"`
	Container  string          `json:"container_sha256"`
	Sections   []sectionJSON   `json:"sections"`
	Procedures []procedureJSON `json:"procedures"`
	Records    []recordJSON    `json:"records"`
	Images     []imageJSON     `json:"images"`
}

type sectionJSON struct {
	Kind    string `json:"kind"`
	Version hex    `json:"version"`
	Offset  hex    `json:"offset"`
	Size    int    `json:"size"`
	Count   int    `json:"count"`
	CRC     hex    `json:"crc32"`
}

type procedureJSON struct {
	Name       string          `json:"name"`
	Operations []operationJSON `json:"operations"`
	Inputs     []portJSON      `json:"inputs"`
	Outputs    []portJSON      `json:"outputs"`
	Bars       []barJSON       `json:"bars"`
}

type operationJSON struct {
	Name      string `json:"name"`
	Class     uint32 `json:"class"`
	FirstTask uint32 `json:"first_task"`
	Tasks     uint32 `json:"tasks"`
}

type portJSON struct {
	Name string `json:"name"`
	Bar  uint32 `json:"bar"`
}

type barJSON struct {
	ID      uint32 `json:"id"`
	Usage   string `json:"usage"`
	Address hex    `json:"address"`
	Size    hex    `json:"size"`
}

type recordJSON struct {
	Task      uint16 `json:"task"`
	Group     uint8  `json:"group"`
	Register  hex    `json:"register"`
	Operands  []hex  `json:"operands"`
	Slot      hex    `json:"slot"`
	BitOffset uint8  `json:"bit_offset"`
	BitWidth  uint8  `json:"bit_width"`
	Shift     uint8  `json:"shift"`
	Bar       uint16 `json:"bar"`
	BarOffset int    `json:"bar_offset"` // bytes
}

type imageJSON struct {
	CRC   hex         `json:"crc32"`
	Words map[hex]hex `json:"words"` // those that are not zero, by register; encoding/json sorts them
}

// JSON returns a container as JSON, indented. Coefficients are told by their
// size and checksum alone.
func JSON(p *Package) ([]byte, error) {
	out := packageJSON{Version: hex(p.Version), Warnings: p.Warnings(), Programs: []programJSON{}}
	for _, g := range p.Programs {
		out.Programs = append(out.Programs, g.json())
	}
	b, err := json.MarshalIndent(out, "", "  ")
	return append(b, '\n'), err
}

func (g *Program) json() programJSON {
	j := programJSON{
		Version: hex(g.Version), Identity: hex(g.Generic.Identity), Image: g.Generic.Image, Base: hex(g.Generic.Base),
		Size: hex(g.Generic.Size), Container: fmt.Sprintf("%x", g.Generic.Container),
		Procedures: []procedureJSON{}, Records: []recordJSON{}, Images: []imageJSON{},
	}
	for k := range kinds {
		body, n := kinds[k].body(g)
		j.Sections = append(j.Sections, sectionJSON{kinds[k].name, hex(g.Versions[k]), hex(g.Offsets[k]), len(body), n, hex(crc32.ChecksumIEEE(body))})
	}
	for _, p := range g.Procedures {
		q := procedureJSON{Name: p.Name, Inputs: portsJSON(p.Inputs), Outputs: portsJSON(p.Outputs), Bars: []barJSON{}}
		for _, o := range g.Operations[p.FirstOperation : p.FirstOperation+p.Operations] {
			q.Operations = append(q.Operations, operationJSON(o))
		}
		for _, b := range p.Bars {
			q.Bars = append(q.Bars, barJSON{b.ID, b.Usage.String(), hex(b.Address), hex(b.Size)})
		}
		j.Procedures = append(j.Procedures, q)
	}
	for _, r := range g.Text.Records {
		q := recordJSON{
			Task: r.Task, Group: r.Group, Register: hex(r.Register), Slot: hex(r.Slot), BitOffset: r.BitOffset,
			BitWidth: r.BitWidth, Shift: r.Shift, Bar: r.Bar, BarOffset: int(r.BarOffset) * Align,
		}
		for _, v := range r.Operand[:r.Operands] {
			q.Operands = append(q.Operands, hex(v))
		}
		j.Records = append(j.Records, q)
	}
	for _, m := range g.Text.Images {
		q := imageJSON{hex(crc32.ChecksumIEEE(m)), map[hex]hex{}}
		for _, gr := range Groups {
			for i := range gr.Words {
				if v := word(m, gr.Image+4*i); v != 0 {
					q.Words[hex(gr.Register+4*i)] = hex(v)
				}
			}
		}
		j.Images = append(j.Images, q)
	}
	return j
}

func portsJSON(ps []Port) []portJSON {
	out := []portJSON{}
	for _, p := range ps {
		out = append(out, portJSON(p))
	}
	return out
}
