package hwx_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// goldenNames are the containers that Apple's compiler wrote.
var goldenNames = []string{"conv", "conv3", "relu", "sigmoid", "sum"}

func golden(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(shareddir.Find(t), "golden", "apple-h13", name+".hwx"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestGoldenRoundTrip reads the real files and writes them again, byte for byte.
// Nothing in them may need the raw forms that keep what the rules do not give.
func TestGoldenRoundTrip(t *testing.T) {
	for _, name := range goldenNames {
		t.Run(name, func(t *testing.T) {
			b := golden(t, name)
			f, err := hwx.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			got, err := hwx.Encode(f)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, b) {
				t.Errorf("written file differs from the one read")
			}
			if len(f.Gaps) != 0 {
				t.Errorf("%d gaps kept, want none: the room between the parts is zero", len(f.Gaps))
			}
			for i, c := range f.Commands {
				if tail := tailOf(c); tail != nil {
					t.Errorf("command %d (%T) kept %d bytes as they were", i, c, len(tail))
				}
			}
		})
	}
}

func tailOf(c hwx.Command) []byte {
	switch c := c.(type) {
	case *hwx.Segment:
		return c.Tail
	case *hwx.Port:
		return c.Tail
	case *hwx.Program:
		return c.Tail
	case *hwx.Tensor:
		return c.Tail
	case *hwx.Ident:
		return c.Tail
	case *hwx.Symtab:
		if c.Strings != nil {
			return c.Strings
		}
		return c.Tail
	case *hwx.Raw:
		return c.Data
	}
	return nil
}
