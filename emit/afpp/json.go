package afpp

import (
	"encoding/json"
	"fmt"
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
}

type sectionJSON struct {
	Kind    string `json:"kind"`
	Version hex    `json:"version"`
	Offset  hex    `json:"offset"`
	Size    int    `json:"size"`
	Present int    `json:"present"` // fewer than size if the container is truncated
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
	Address hex    `json:"address"` // 0x0: bound by the call
	Size    hex    `json:"size"`
}

// HeadersJSON returns the output of DumpHeaders as indented JSON.
func HeadersJSON(p *Package) ([]byte, error) {
	out := packageJSON{Version: hex(p.Version), Warnings: p.Warnings(), Programs: []programJSON{}}
	for _, g := range p.Programs {
		j, err := g.json()
		if err != nil {
			return nil, err
		}
		out.Programs = append(out.Programs, j)
	}
	b, err := json.MarshalIndent(out, "", "  ")
	return append(b, '\n'), err
}

func (g *Program) json() (programJSON, error) {
	j := programJSON{
		Version: hex(g.Version), Identity: hex(g.Generic.Identity), Image: g.Generic.Image, Base: hex(g.Generic.Base),
		Size: hex(g.Generic.Size), Container: fmt.Sprintf("%x", g.Generic.Container),
		Procedures: []procedureJSON{},
	}
	list, err := g.Sections()
	if err != nil {
		return programJSON{}, err
	}
	for _, x := range list {
		j.Sections = append(j.Sections, sectionJSON{
			Kind:    x.Kind.String(),
			Version: hex(x.Version),
			Offset:  hex(x.Offset),
			Size:    int(x.Size),
			Present: int(x.Present),
			Count:   x.Count,
			CRC:     hex(x.CRC),
		})
	}
	for _, p := range g.Procedures {
		q := procedureJSON{Name: p.Name, Inputs: portsJSON(p.Inputs), Outputs: portsJSON(p.Outputs), Bars: []barJSON{}}
		for _, o := range g.Operations[p.FirstOperation : p.FirstOperation+p.Operations] {
			q.Operations = append(q.Operations, operationJSON(o))
		}
		for _, b := range p.Bars {
			q.Bars = append(q.Bars, barJSON{
				ID:      b.ID,
				Usage:   b.Usage.String(),
				Address: hex(b.Address),
				Size:    hex(b.Size),
			})
		}
		j.Procedures = append(j.Procedures, q)
	}
	return j, nil
}

func portsJSON(ps []Port) []portJSON {
	out := []portJSON{}
	for _, p := range ps {
		out = append(out, portJSON(p))
	}
	return out
}
