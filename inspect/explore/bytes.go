package explore

import (
	"encoding/hex"
	"net/http"
	"slices"

	"github.com/zinc-compiler/zinc/compile/provenance"
)

// maxBytes is the number of bytes in an answer.
const maxBytes = 64 << 10

// byteWindow is a part of a section, or of the whole container.
type byteWindow struct {
	Section string `json:"section"`
	Size    int64  `json:"size"` // of the section
	Offset  int64  `json:"offset"`
	// FileOffset is the offset of the window in the container, or -1 if it is not in the file.
	FileOffset int64     `json:"file_offset"`
	Hex        string    `json:"hex"`
	Runs       []byteRun `json:"runs"`
}

// byteRun is a run of bytes of one kind.
type byteRun struct {
	Offset     uint64 `json:"offset"`
	Size       uint64 `json:"size"`
	What       string `json:"what"`
	Task       *int   `json:"task,omitempty"`
	Statements []int  `json:"statements,omitempty"`
}

func bytesView(_ *Server, v *view, r *http.Request) (any, error) {
	w := &byteWindow{Section: r.URL.Query().Get("section"), FileOffset: -1, Runs: []byteRun{}}
	base := int64(0)
	switch w.Section {
	case "text":
		w.Size, base = int64(len(v.text)), v.container.text
	case "constants":
		w.Size, base = int64(v.db.ConstantSize), v.container.constants
	case "file":
		w.Size = v.files.container.size
	default:
		return nil, bad("section is %q, want text, constants or file", cut(w.Section))
	}
	var err error
	if w.Offset, err = number(r, "offset", 0, max(w.Size-1, 0), 0); err != nil {
		return nil, err
	}
	n, err := number(r, "count", 0, maxBytes, 4096)
	if err != nil {
		return nil, err
	}
	n = min(n, w.Size-w.Offset)
	if base >= 0 && n > 0 {
		w.FileOffset = base + w.Offset
		b, err := v.files.container.window(w.FileOffset, n)
		if err != nil {
			return nil, &faultError{err}
		}
		w.Hex = hex.EncodeToString(b)
	}
	v.runs(w, uint64(n))
	return w, nil
}

// runs describes the bytes of a window.
func (v *view) runs(w *byteWindow, n uint64) {
	add := func(h provenance.Hit) bool {
		x := byteRun{Offset: h.Offset, Size: h.Size, What: h.What}
		if h.Task >= 0 && h.What == provenance.WhatTask {
			t := h.Task
			x.Task, x.Statements = &t, v.tasks[t].Statements
		}
		if h.Extent >= 0 {
			for _, r := range h.Refs[:min(len(h.Refs), 8)] {
				s := v.db.Brief(r, briefNodes)
				x.Statements = append(x.Statements, s.Statements...)
				x.Statements = append(x.Statements, s.Users...)
			}
			slices.Sort(x.Statements)
			x.Statements = slices.Compact(x.Statements)
		}
		if k := len(w.Runs) - 1; k >= 0 && w.Runs[k].What == x.What && w.Runs[k].Task == nil && x.Task == nil &&
			w.Runs[k].Offset+w.Runs[k].Size == x.Offset && slices.Equal(w.Runs[k].Statements, x.Statements) {
			w.Runs[k].Size += x.Size
			return true
		}
		w.Runs = append(w.Runs, x)
		return len(w.Runs) < maxLinks
	}
	switch off := uint64(w.Offset); w.Section {
	case "text":
		for _, h := range v.db.Text(off, n) {
			if !add(h) {
				return
			}
		}
	case "constants":
		if v.unlinked {
			add(provenance.Hit{Offset: off, Size: n, What: "constants", Task: -1, Extent: -1})
			return
		}
		v.db.Constants(off, n, add)
	case "file":
		for _, p := range v.container.Parts {
			from, to := max(uint64(p.Offset), off), min(uint64(p.Offset)+p.Bytes, off+n)
			if p.Section != "" && from < to {
				add(provenance.Hit{
					Offset: from,
					Size:   to - from,
					What:   p.Segment + "," + p.Section,
					Task:   -1,
					Extent: -1,
				})
			}
		}
	}
}
