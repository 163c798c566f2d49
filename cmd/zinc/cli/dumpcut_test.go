package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/lower/td"
)

// dumped runs dump on bytes.
func dumped(t testing.TB, b []byte, args ...string) (status int, out, errs string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.bin")
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	var o, e bytes.Buffer
	status = Main(append([]string{"dump", path}, args...), nil, &o, &e)
	return status, o.String(), e.String()
}

// emitted compiles the example model to one of the forms that zinc writes.
func emitted(t testing.TB, args ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "digits.hwx")
	if args[0] != "pair" {
		path = filepath.Join(t.TempDir(), "digits.out")
		args = []string{"--emit=" + args[0]}
	} else {
		args = nil
	}
	var o, e bytes.Buffer
	model := filepath.Join(digits(t), "digits.mlmodelc")
	if status := Main(append([]string{model, "-o", path}, args...), nil, &o, &e); status != statusOK {
		t.Fatalf("exit status %d: %s", status, &e)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wholePart is a part of a file: its text, and where it ends.
type wholePart struct {
	end  int
	text string
}

// What the lines of a dump say of the places of commands and tasks.
var (
	commandLine = regexp.MustCompile(`(?m)^0x([0-9a-f]+) \+0x([0-9a-f]+) \w+`)
	taskLine    = regexp.MustCompile(`(?m)^task \d+ at 0x([0-9a-f]+), (\d+) words: .*$`)
)

// containerPartsOf lists the parts of a container's dump.
func containerPartsOf(t *testing.T, b []byte) (out []wholePart) {
	t.Helper()
	f, err := hwx.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	status, text, errs := dumped(t, b, "--headers", "--tasks", "--symbols", "--relocs")
	if status != statusOK {
		t.Fatal(errs)
	}
	for _, m := range commandLine.FindAllStringSubmatch(text, -1) {
		var at, size int
		fmt.Sscanf(m[1]+" "+m[2], "%x %x", &at, &size)
		out = append(out, wholePart{at + size, m[0]})
	}
	section := int(f.Section(hwx.SegText, hwx.SectText).Offset)
	for _, m := range taskLine.FindAllStringSubmatch(text, -1) {
		var at, words int
		fmt.Sscanf(m[1]+" "+m[2], "%x %d", &at, &words)
		out = append(out, wholePart{section + at + 4*words, m[0]})
	}
	for _, c := range f.Commands {
		if c, ok := c.(*hwx.Symtab); ok {
			for i, s := range c.Symbols {
				end := max(int(c.SymOff)+16*(i+1), int(c.StrOff)+int(s.NameOff)+len(s.Name)+1)
				out = append(out, wholePart{end, fmt.Sprintf("%q", s.Name)})
			}
		}
	}
	for _, s := range f.Sections() {
		for i, r := range s.Relocs {
			out = append(out, wholePart{int(s.RelocOff) + 8*(i+1), fmt.Sprintf("\n  %-10s kind 5",
				fmt.Sprintf("%#x", r.Addr))})
		}
	}
	return out
}

// TestDumpCut cuts every form that zinc writes at many offsets: dump ends with status 1,
// says where the file ends, prints every part that is whole, and does not panic.
func TestDumpCut(t *testing.T) {
	container := emitted(t, "pair")
	streams := emitted(t, "records")
	images := emitted(t, "images")
	firmware := emitted(t, "afpp")
	var records []wholePart
	for i := range (len(streams) - 8) / td.RecordSize {
		records = append(records, wholePart{8 + td.RecordSize*(i+1), fmt.Sprintf("record %d: task", i)})
	}
	var tasks []wholePart
	for i := range (len(images) - 8) / td.ImageSize {
		tasks = append(tasks, wholePart{8 + td.ImageSize*(i+1), fmt.Sprintf("\ntask %d,", i)})
	}
	for _, c := range []struct {
		name  string
		b     []byte
		args  []string
		parts []wholePart
	}{
		{name: "container", b: container, args: []string{"--headers", "--tasks", "--symbols", "--relocs"},
			parts: containerPartsOf(t, container)},
		{name: "records", b: streams, parts: records},
		{name: "images", b: images, parts: tasks},
		{name: "firmware", b: firmware},
	} {
		t.Run(c.name, func(t *testing.T) {
			if len(c.parts) == 0 && c.name != "firmware" {
				t.Fatal("no parts to look for")
			}
			var cuts []int
			step := len(c.parts)/8 + 1
			for i := 0; i < len(c.parts); i += step {
				cuts = append(cuts, c.parts[i].end-1, c.parts[i].end, c.parts[i].end+1)
			}
			for n := 4; n < len(c.b); n += 9 + n/4 {
				cuts = append(cuts, n)
			}
			for k, n := range cuts {
				if n < 4 || n >= len(c.b) {
					continue
				}
				status, out, errs := dumped(t, c.b[:n], c.args...)
				if status == statusOK && c.name == "records" && (n-8)%td.RecordSize == 0 || status == statusOK &&
					c.name == "images" && (n-8)%td.ImageSize == 0 {
					continue // nothing says how many there are
				}
				if status != statusInput || !strings.Contains(errs, "byte 0x") ||
					strings.Contains(errs, "internal error") {
					t.Fatalf("cut at %#x: exit status %d\n%s", n, status, errs)
				}
				for _, p := range c.parts {
					if p.end <= n && !strings.Contains(out, p.text) {
						t.Fatalf("cut at %#x: %q, which ends at %#x, is not printed\n%s", n, p.text, p.end, errs)
					}
				}
				if k%4 > 0 {
					continue
				}
				if status, out, errs := dumped(t, c.b[:n], "--json", "--all"); status != statusInput ||
					!json.Valid([]byte(out)) {
					t.Fatalf("cut at %#x: --all --json: exit status %d, JSON %v\n%s", n, status,
						json.Valid([]byte(out)), errs)
				}
				if status, _, errs := dumped(t, c.b[:n], "--raw", "--all"); status != statusInput {
					t.Fatalf("cut at %#x: --all --raw: exit status %d\n%s", n, status, errs)
				}
			}
		})
	}
}

// TestDumpApple prints every part of Apple's own containers, whole and cut.
func TestDumpApple(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shareddir.Find(t), "golden", "apple-h13", "*.hwx"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		status, out, errs := dumped(t, b, "--all", "--task", "0")
		for _, want := range []string{"procedure net: 1 tasks\n", "\nrecords of procedure net", "\nsymbols: ",
			"| ANEC v1", "task 0 of procedure net", "\n  NE: neural engine\n"} {
			if status != statusOK || !strings.Contains(out, want) {
				t.Errorf("%s: exit status %d, no %q\n%s", filepath.Base(f), status, want, errs)
			}
		}
		if status, out, errs := dumped(t, b, "--all", "--task", "0", "--json"); status != statusOK ||
			!json.Valid([]byte(out)) {
			t.Errorf("%s: --json: exit status %d\n%s", filepath.Base(f), status, errs)
		}
		for _, n := range []int{40, 1000, 0x1000, 0x4100, len(b) - 1} {
			if status, _, errs := dumped(t, b[:n], "--all"); status == statusInternal || status == statusOK &&
				n < 0x4200 {
				t.Errorf("%s cut at %#x: exit status %d\n%s", filepath.Base(f), n, status, errs)
			}
		}
	}
}

// TestDumpOtherTarget: of a target without a field table the words are printed, and a
// line says so.
func TestDumpOtherTarget(t *testing.T) {
	b := emitted(t, "pair")
	b[8] = hwx.SubtypeH16
	status, out, errs := dumped(t, b)
	if status != statusOK || !strings.Contains(out,
		"the tasks of CPU subtype 7 are not decoded: only h13's (4) have a field table; its words:\n") ||
		!strings.Contains(out, "\n00004000  00000000 ") || !strings.Contains(out, "tiles of K") {
		t.Errorf("exit status %d\n%s%s", status, out, errs)
	}
	if status, _, errs := dumped(t, b, "--task", "0"); status != statusInput ||
		!strings.Contains(errs, "field table; --tasks prints their words") {
		t.Errorf("--task: exit status %d: %s", status, errs)
	}
	if status, out, errs := dumped(t, b, "--tasks", "--json"); status != statusOK || !json.Valid([]byte(out)) ||
		!strings.Contains(out, `"note":`) {
		t.Errorf("--json: exit status %d\n%s", status, errs)
	}
}

// heapWriter notes how large the heap gets while text is written to it.
type heapWriter struct {
	n, next int
	most    uint64
}

func (w *heapWriter) Write(b []byte) (int, error) {
	if w.n += len(b); w.n >= w.next {
		w.next += 1 << 20
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		w.most = max(w.most, m.HeapAlloc)
	}
	return len(b), nil
}

// TestDumpStreams: the text and the JSON of a large container are written as they are
// made, and do not stand in memory.
func TestDumpStreams(t *testing.T) {
	const size = 6 << 20
	f, err := hwx.Read(emitted(t, "pair"))
	if err != nil {
		t.Fatal(err)
	}
	more := make([]byte, size)
	random := rand.NewChaCha8([32]byte{1})
	if _, err := io.ReadFull(random, more); err != nil {
		t.Fatal(err)
	}
	f.Gaps = append(f.Gaps, hwx.Gap{Off: f.Size, Data: more})
	f.Size += size
	b, err := hwx.Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "large.hwx")
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	b, more, f = nil, nil, nil
	for _, form := range []string{"--color=never", "--color=always", "--json"} {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		w := &heapWriter{}
		if status := Main([]string{"dump", path, "--raw", form}, nil, w, io.Discard); status != statusOK {
			t.Fatalf("exit status %d", status)
		}
		if w.n < 3*size {
			t.Fatalf("%s: %d bytes of text of a file of %d", form, w.n, size)
		}
		if w.most > m.HeapAlloc+2*size {
			t.Errorf("%s: the heap grows from %d to %d bytes while a file of %d is printed as %d", form, m.HeapAlloc,
				w.most, size, w.n)
		}
	}
}

// TestColour: colours are for a terminal, unless its user says otherwise; the text is
// the same without them.
func TestColour(t *testing.T) {
	for _, c := range []struct {
		flag, noColor, term string
		terminal, want      bool
	}{
		{flag: "auto", term: "xterm", terminal: true, want: true}, {flag: "auto", term: "xterm", terminal: false,
			want: false}, {flag: "auto", noColor: "1", term: "xterm", terminal: true, want: false},
		{flag: "auto", term: "dumb", terminal: true, want: false}, {flag: "always", noColor: "1", term: "dumb",
			terminal: false, want: true}, {flag: "never", term: "xterm", terminal: true, want: false},
	} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		if got := (&env{terminal: c.terminal}).colours(c.flag); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	b := emitted(t, "pair")
	escape := regexp.MustCompile("\x1b\\[[0-9]*m")
	for _, args := range [][]string{{"--all"}, {"--raw"}, {"--task", "0"}} {
		_, plain, _ := dumped(t, b, args...)
		_, coloured, _ := dumped(t, b, append(args, "--color=always")...)
		if !escape.MatchString(coloured) || escape.ReplaceAllString(coloured, "") != plain {
			t.Errorf("%v: with colours the text is another, or there are none", args)
		}
	}
}
