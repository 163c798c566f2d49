package docs

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/lower/td"
)

// writeFields prints the field table, a table a block. The elements of an array
// are one row, and so are the bits of a word that nobody has explained; words
// that follow each other with the same such bits share it.
func writeFields(w *bytes.Buffer) {
	rows := td.Fields()
	for i, b := range td.V7.Blocks {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if b == td.Header {
			fmt.Fprintf(w, "### %s\n\n%s. The first column is the index of the word.\n\n", b.Name, sentence(b.Doc))
		} else {
			fmt.Fprintf(w, "### %s\n\n%s. %d registers from %#07x.\n\n", b.Name, sentence(b.Doc), b.Words, b.Base)
		}
		head(w, "register", "bits", "field", "kind", "known", "meaning", "version 10", "its source",
			"version 11")
		for j := 0; j < len(rows); j++ {
			r := &rows[j]
			at, to := r.Place(td.V7), r.Place(td.V10)
			if at.Block != b || r.Known == td.Unknown {
				continue
			}
			v11 := placeV11(r)
			name, addr, v10 := strings.TrimPrefix(r.Name, b.Name+"."), place(r), placeV10(r)
			if n := r.Array.Len; n > 0 {
				if r.Array.Index > 0 {
					continue
				}
				step := rows[j+1].Place(td.V10).Offset() - to.Offset()
				name = fmt.Sprintf("%s[0..%d]", strings.TrimPrefix(r.Array.Name, b.Name+"."), n-1)
				addr, v10 = addr+" + 4*i", v10+fmt.Sprintf(" + %d*i", step)
				if v11 != "" {
					v11 += " + 4*i"
				}
			}
			row(w, addr, at.Bits(), "`"+name+"`", kindOf(r), r.Known.String(), r.Doc, v10, to.Source, v11)
		}
		writeUnknown(w, b, rows)
	}
}

// writeUnknown prints the unexplained bits of a block.
func writeUnknown(w *bytes.Buffer, b *td.Block, rows []td.Row) {
	type run struct {
		first, last, bits string
		group             *td.Block
		firstV10, lastV10 string
		source            string
	}
	var runs []run
	for i := 0; i < len(rows); {
		r := &rows[i]
		at, to := r.Place(td.V7), r.Place(td.V10)
		if at.Block != b || r.Known != td.Unknown {
			i++
			continue
		}
		var bs []string
		for ; i < len(rows); i++ {
			p := rows[i].Place(td.V7)
			if p.Block != b || p.Word != at.Word {
				break
			}
			bs = append(bs, p.Bits())
		}
		text := strings.Join(bs, ", ")
		// Words without such bits may be between two of one run: the rows
		// of a block come in the order of their addresses.
		if n := len(runs); n > 0 && runs[n-1].bits == text && runs[n-1].group == to.Block &&
			runs[n-1].source == to.Source {
			runs[n-1].last, runs[n-1].lastV10 = place(r), wordV10(r)
			continue
		}
		runs = append(runs, run{
			first:    place(r),
			last:     place(r),
			bits:     text,
			group:    to.Block,
			firstV10: wordV10(r),
			lastV10:  wordV10(r),
			source:   to.Source,
		})
	}
	for _, u := range runs {
		at, v10 := u.first, u.firstV10
		if u.last != u.first {
			at, v10 = at+" .. "+u.last, v10+" .. "+u.lastV10
		}
		row(w, at, u.bits, "", "", td.Unknown.String(), "", v10, u.source, "")
	}
}

// kindOf returns the kind of a field and its unit; nothing for a plain number.
func kindOf(r *td.Row) string {
	switch {
	case r.Unit > 1:
		return fmt.Sprintf("%s, unit %d", r.Kind, r.Unit)
	case r.Kind != td.Unsigned:
		return r.Kind.String()
	}
	return ""
}

func place(r *td.Row) string {
	p := r.Place(td.V7)
	if p.Block == td.Header {
		return fmt.Sprint(p.Word)
	}
	return fmt.Sprintf("%#07x", p.Addr())
}

// wordV10 returns the word of version 10 that holds a field: its group and the
// byte offset in it.
func wordV10(r *td.Row) string {
	p := r.Place(td.V10)
	return fmt.Sprintf("%s + 0x%02x", p.Block.Name, 4*p.Word)
}

// placeV10 returns the word, and the lowest bit where it is another than in
// version 7.
func placeV10(r *td.Row) string {
	if to := r.Place(td.V10); to.Bit != r.Place(td.V7).Bit {
		return fmt.Sprintf("%s, bit %d", wordV10(r), to.Bit)
	}
	return wordV10(r)
}

// placeV11 returns where version 11 has a field: the register, or the word of the header, and the lowest bit where it
// is another than in version 7; nothing if it does not have it.
func placeV11(r *td.Row) string {
	return placeIn(r, td.V11)
}

// placeIn is placeV11 for another version of packed tasks.
func placeIn(r *td.Row, c *td.Codec) string {
	p, old := r.Place(c), r.Place(td.V7)
	if p.Block == nil {
		return ""
	}
	at := fmt.Sprintf("header %d", p.Word)
	if addr, ok := p.Register(); ok {
		at = fmt.Sprintf("%#06x", addr)
	} else if p.InHead() {
		at = "head of its address"
	}
	if p.Bit != old.Bit || old.Block == nil {
		at += fmt.Sprintf(", bit %d", p.Bit)
	}
	if p.Source != "" {
		at += " (" + p.Source + ")"
	}
	return at
}

// writeNewFields prints the fields that version 11 has and version 7 has not.
func writeNewFields(w *bytes.Buffer) {
	head(w, "field", "place", "bits", "kind", "known", "meaning", "version 10")
	rows := td.Fields()
	for i := range rows {
		r := &rows[i]
		if r.Place(td.V7).Block != nil || r.Place(td.V11).Block == nil || r.Array.Index > 0 {
			continue
		}
		name, at := r.Name, placeV11(r)
		if n := r.Array.Len; n > 0 {
			name, at = fmt.Sprintf("%s[0..%d]", r.Array.Name, n-1), at+", and the words after it"
		}
		row(w, "`"+name+"`", at, r.Place(td.V11).Bits(), kindOf(r), r.Known.String(), r.Doc, wordV10(r))
	}
}

// writeLater prints where the versions after 11 have their fields, and the meaning of those that version 11 has not.
func writeLater(w *bytes.Buffer) {
	codecs := []*td.Codec{td.V8, td.V17, td.V19, td.V20, td.V24}
	head(w, "field", "version 8", "version 17", "version 19", "version 20", "version 24", "meaning")
	rows := td.Fields()
	for i := range rows {
		r := &rows[i]
		if r.Known == td.Unknown || r.Array.Index > 0 || !slices.ContainsFunc(codecs, func(c *td.Codec) bool {
			return r.Place(c).Block != nil
		}) {
			continue
		}
		cells := []string{"`" + r.Name + "`"}
		if n := r.Array.Len; n > 0 {
			cells[0] = fmt.Sprintf("`%s[0..%d]`", r.Array.Name, n-1)
		}
		for _, c := range codecs {
			cells = append(cells, placeIn(r, c))
		}
		meaning := ""
		if r.Place(td.V7).Block == nil && r.Place(td.V11).Block == nil {
			meaning = r.Doc
		}
		row(w, append(cells, meaning)...)
	}
}

// writeBlocks prints the blocks of version 11.
func writeBlocks(w *bytes.Buffer) {
	head(w, "block", "contents", "first register", "words")
	for _, b := range td.V11.Blocks {
		base := ""
		if !b.Header {
			base = fmt.Sprintf("0x%04x", b.Base)
		}
		row(w, b.Name, b.Doc, base, fmt.Sprint(b.Words))
	}
}

// writeGrades prints what the grades of knowledge represent.
func writeGrades(w *bytes.Buffer) {
	head(w, "known", "meaning")
	for _, k := range []td.Known{td.Named, td.Recorded, td.Modelled, td.Unknown} {
		row(w, k.String(), k.Doc())
	}
}

// writeGroups prints the groups of version 10.
func writeGroups(w *bytes.Buffer) {
	head(w, "group", "contents", "image base", "words", "register base")
	for _, g := range td.V10.Blocks {
		base := ""
		if g != td.HeaderV10 {
			base = fmt.Sprintf("0x%04x", g.Base)
		}
		row(w, g.Name, g.Doc, fmt.Sprintf("0x%03x", g.Image()), fmt.Sprint(g.Words), base)
	}
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
