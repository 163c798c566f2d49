package e5

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The output of the print functions for what Read returns, and the layout of the file, are as recorded.
func TestDumpGolden(t *testing.T) {
	for name, p := range map[string]*Program{"fused": fused(0, 64), "every": every()} {
		t.Run(name, func(t *testing.T) {
			b := mustBytes(t, p)
			p := mustRead(t, b)
			var text bytes.Buffer
			if err := Describe(p).WriteText(&text); err != nil {
				t.Fatal(err)
			}
			js, err := json.MarshalIndent(Describe(p), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString("file " + summarise(b).String() + "\n")
			golden(t, "testdata/"+name+".dump", text.Bytes())
			golden(t, "testdata/"+name+".json", append(js, '\n'))
		})
	}
}

// golden compares got with a file, or writes it with -update.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (run with -update):\n%s", path, got)
	}
}

type broken struct{ left int }

func (w *broken) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

func TestWriterErrors(t *testing.T) {
	if err := Describe(every()).WriteText(&broken{100}); err == nil || err.Error() != "disk full" {
		t.Errorf("Dump to a full disk: %v", err)
	}
	if err := Write(&broken{100}, every()); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("Write to a full disk: %v", err)
	}
}

// A print shows control characters, it does not send them to the terminal.
func TestDumpQuotes(t *testing.T) {
	p := fused(0, 64)
	p.Functions[0].Operands[0].Name = "a\x1b[31m\nb"
	p.Functions[0].AddOp(nil, nil, &CpuInferenceAttrs{Program: "one\n\x1b[2Jtwo\n"})
	var b bytes.Buffer
	if err := Describe(p).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsRune(b.String(), 0x1b) {
		t.Errorf("an escape character in %q", b.String())
	}
}
