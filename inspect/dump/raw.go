package dump

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/zinc-compiler/zinc/internal/node"
)

// rawLine is the number of bytes in a line of words.
const rawLine = 16

// words prints bytes of the file, or of the named part, from offset off on: offset,
// little-endian words, the bytes after the last whole word, and the
// characters. A run of equal lines is one line and a star.
func (d *fileDump) words(part, name string, off int64, b []byte) {
	if d.j != nil {
		d.wordsJSON(part, name, off, b)
		return
	}
	d.part()
	title := part
	if name != "" {
		title += " " + name
	}
	d.printf("%s: %#x bytes at %#x\n", node.Printable(title), len(b), off)
	var last, text []byte
	star := false
	for at := 0; at < len(b); at += rawLine {
		line := b[at:min(at+rawLine, len(b))]
		if bytes.Equal(line, last) && at+rawLine < len(b) {
			if !star {
				d.printf("*\n")
			}
			star = true
			continue
		}
		last, star = line, false
		text = wordLine(text[:0], off+int64(at), line)
		d.out.Write(text)
	}
}

// wordLine appends one line of at most rawLine bytes to out.
func wordLine(out []byte, off int64, b []byte) []byte {
	start := len(out)
	out = append(appendHex(out, uint64(off), 8), ' ')
	i := 0
	for ; i+4 <= len(b); i += 4 {
		out = appendHex(append(out, ' '), uint64(binary.LittleEndian.Uint32(b[i:])), 8)
	}
	if i < len(b) {
		out = append(out, ' ')
		for _, c := range b[i:] {
			out = appendHex(append(out, ' '), uint64(c), 2)
		}
	}
	for len(out)-start < 9+9*rawLine/4+2 {
		out = append(out, ' ')
	}
	out = append(out, '|')
	for _, c := range b {
		if c < ' ' || c > '~' {
			c = '.'
		}
		out = append(out, c)
	}
	return append(out, '|', '\n')
}

// appendHex appends v with at least n digits.
func appendHex(out []byte, v uint64, n int) []byte {
	for ; n < 16 && v>>(4*n) != 0; n++ {
	}
	for n--; n >= 0; n-- {
		out = append(out, "0123456789abcdef"[v>>(4*n)&0xf])
	}
	return out
}

// wordsJSON writes the words as an entry of "raw", line by line.
func (d *fileDump) wordsJSON(part, name string, off int64, b []byte) {
	j := d.j
	j.Open("", '{')
	j.Put("part", part)
	if name != "" {
		j.Put("name", name)
	}
	j.Put("offset", off)
	j.Put("bytes", len(b))
	j.Open("words", '[')
	i := 0
	var line []byte
	for ; i+4 <= len(b); i += 4 {
		line = append(appendHex(append(line, '"'), uint64(binary.LittleEndian.Uint32(b[i:])), 8), '"')
		if next := i + 4; next+4 <= len(b) && next%(2*rawLine) != 0 {
			line = append(line, ", "...)
			continue
		}
		j.Raw("", string(line))
		line = line[:0]
	}
	j.Close()
	if i < len(b) {
		j.Put("rest", fmt.Sprintf("%x", b[i:]))
	}
	j.Close()
}
