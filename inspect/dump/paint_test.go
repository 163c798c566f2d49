package dump

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestLongLinesAreNotColoured checks that a long line is written immediately instead of
// being kept in memory, and that the next line is coloured again.
func TestLongLinesAreNotColoured(t *testing.T) {
	var out bytes.Buffer
	p := &Paint{w: &out}
	piece := strings.Repeat(`"x" `, 256)
	const pieces = 1000
	for range pieces {
		if _, err := io.WriteString(p, piece); err != nil {
			t.Fatal(err)
		}
	}
	if cap(p.line) > 4*paintedLine {
		t.Errorf("%d bytes of a line are kept", cap(p.line))
	}
	if _, err := io.WriteString(p, "end\nhead\n"); err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat(piece, pieces) + "end\n" + styleHead + "head" + styleOff + "\n"; out.String() != want {
		t.Errorf("%d bytes, want %d; they end in %q", out.Len(), len(want), out.String()[out.Len()-40:])
	}
}
