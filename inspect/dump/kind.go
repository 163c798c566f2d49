package dump

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/emit/anec"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/netplist"
	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/lower/td"
)

// Kind is the type of a file, detected from its content.
type Kind int

// Kinds of files.
const (
	KindContainer Kind = iota
	KindText           // MIL text, or any text
	KindWeights
	KindArray
	KindNetplist
	KindRecords
	KindImages
	KindTasks
	KindFirmware
	KindDatabase
	KindDescriptor
	KindANEC
	KindOther // unknown
)

// kinds detects all kinds except KindOther by their first bytes, in this order.
var kinds = []struct {
	kind Kind
	is   func(b []byte) bool
}{
	{KindContainer, func(b []byte) bool { return len(b) >= 4 && binary.LittleEndian.Uint32(b) == hwx.Magic }},
	{KindDescriptor, e5.Is},
	{KindFirmware, afpp.IsPackage},
	{KindDatabase, provenance.Is},
	{KindArray, func(b []byte) bool { return strings.HasPrefix(string(b[:min(len(b), len(npy.Magic))]), npy.Magic) }},
	{KindRecords, begins(td.RecordMagic)},
	{KindImages, begins(td.ImagesMagic)},
	{KindTasks, begins(td.TextMagic)},
	{KindWeights, func(b []byte) bool {
		return len(b) >= 8 && binary.LittleEndian.Uint32(b[4:]) == blobfile.Version &&
			(len(b) < blobfile.HeaderSize+4 || binary.LittleEndian.Uint32(b[blobfile.HeaderSize:]) == blobfile.Sentinel)
	}},
	{KindNetplist, netplist.Is},
	{KindANEC, anec.Is},
	{KindText, isText},
}

// begins returns a test for files that begin with these bytes.
func begins(magic string) func(b []byte) bool {
	return func(b []byte) bool { return bytes.HasPrefix(b, []byte(magic)) }
}

// textPrefix is the number of bytes that are examined to detect text.
const textPrefix = 4096

// isText reports whether b begins as text does.
func isText(b []byte) bool {
	if len(b) > textPrefix {
		b = b[:textPrefix]
		for i := 0; i < utf8.UTFMax && !utf8.Valid(b); i++ {
			b = b[:len(b)-1] // a character may be truncated
		}
	}
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' {
			return false
		}
	}
	return len(b) > 0 && utf8.Valid(b)
}

// KindOf returns the kind of a file with the contents b.
func KindOf(b []byte) Kind {
	for _, k := range kinds {
		if k.is(b) {
			return k.kind
		}
	}
	return KindOther
}
