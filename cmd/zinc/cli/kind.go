package cli

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/netplist"
	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/regularfile"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/provenance"
)

// kind is the type of a file, detected from its content.
type kind int

const (
	kindContainer kind = iota
	kindText           // MIL text, or any text
	kindWeights
	kindArray
	kindNetplist
	kindRecords
	kindImages
	kindTasks
	kindFirmware
	kindDatabase
	kindDescriptor
	kindOther // nothing zinc knows
)

// kinds detects all kinds except kindOther by their first bytes, in this order.
var kinds = []struct {
	kind kind
	is   func(b []byte) bool
}{
	{kindContainer, func(b []byte) bool { return len(b) >= 4 && binary.LittleEndian.Uint32(b) == hwx.Magic }},
	{kindDescriptor, e5.Is},
	{kindFirmware, afpp.IsPackage},
	{kindDatabase, provenance.Is},
	{kindArray, func(b []byte) bool { return strings.HasPrefix(string(b[:min(len(b), len(npy.Magic))]), npy.Magic) }},
	{kindRecords, begins(td.RecordMagic)},
	{kindImages, begins(td.ImagesMagic)},
	{kindTasks, begins(td.TextMagic)},
	{kindWeights, func(b []byte) bool {
		return len(b) >= 8 && binary.LittleEndian.Uint32(b[4:]) == blobfile.Version &&
			(len(b) < blobfile.HeaderSize+4 || binary.LittleEndian.Uint32(b[blobfile.HeaderSize:]) == blobfile.Sentinel)
	}},
	{kindNetplist, netplist.Is},
	{kindText, isText},
}

// begins returns the test for a file that begins with these bytes.
func begins(magic string) func(b []byte) bool {
	return func(b []byte) bool { return bytes.HasPrefix(b, []byte(magic)) }
}

// textPrefix is how much of a file is looked at to call it text.
const textPrefix = 4096

// isText reports whether b begins as text does.
func isText(b []byte) bool {
	if len(b) > textPrefix {
		b = b[:textPrefix]
		for i := 0; i < utf8.UTFMax && !utf8.Valid(b); i++ {
			b = b[:len(b)-1] // a character may be cut
		}
	}
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' {
			return false
		}
	}
	return len(b) > 0 && utf8.Valid(b)
}

func kindOf(b []byte) kind {
	for _, k := range kinds {
		if k.is(b) {
			return k.kind
		}
	}
	return kindOther
}

// readFile reads a file that is regular: a pipe or a device could go on for ever.
func readFile(path string) ([]byte, error) { return regularfile.Read(path) }
