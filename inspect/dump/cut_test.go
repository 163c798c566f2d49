package dump

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
	"github.com/zinc-compiler/zinc/target"
)

// dumped prints bytes. args are the names of options and parts, and task=N. ok reports whether there was no error, errs
// is its text.
func dumped(t testing.TB, b []byte, args ...string) (ok bool, out, errs string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.bin")
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	var o Options
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		switch name {
		case "json":
			o.JSON = true
		case "raw":
			o.Raw = true
		case "all":
			o.All = true
		case optionAllFields:
			o.AllFields = true
		case PartTask:
			rs, err := ParseTasks([]string{value})
			if err != nil {
				t.Fatal(err)
			}
			o.Tasks = append(o.Tasks, rs...)
		default:
			o.Parts = append(o.Parts, name)
		}
	}
	var w bytes.Buffer
	if err := File(&w, path, o); err != nil {
		return false, w.String(), err.Error()
	}
	return true, w.String(), ""
}

// compiled returns the container of the example model.
func compiled(t testing.TB) []byte {
	t.Helper()
	p, err := zinc.Compile(t.Context(), filepath.Join("..", "..", "examples", "digits", "digits.mlmodelc"),
		zinc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Container
}

// split returns the example model's tasks as a record stream and as a file of images.
func split(t testing.TB, container []byte) (records, images []byte) {
	t.Helper()
	f, err := hwx.Read(container)
	if err != nil {
		t.Fatal(err)
	}
	ps, err := Programs(f)
	if err != nil {
		t.Fatal(err)
	}
	ms, rs, err := td.Split(ps[0].Tasks)
	if err != nil {
		t.Fatal(err)
	}
	if records, err = td.EncodeRecords(rs); err != nil {
		t.Fatal(err)
	}
	if images, err = td.EncodeImages(ms); err != nil {
		t.Fatal(err)
	}
	return records, images
}

// loaded returns the firmware container that loading a container produces.
func loaded(t testing.TB, container []byte) []byte {
	t.Helper()
	p, err := loader.Read(container)
	if err != nil {
		t.Fatal(err)
	}
	u, err := translation.NewUnit(translation.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.Load(u.Context(1), "load")
	if err != nil {
		t.Fatal(err)
	}
	return l.Firmware()
}

// wholePart is a part of a file: its text, and where it ends.
type wholePart struct {
	end  int
	text string
}

// These match the lines of a dump with the positions of commands and tasks.
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
	ok, text, errs := dumped(t, b, "headers", "tasks", "symbols", "relocs")
	if !ok {
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

// TestTruncatedFilesArePrintedUpToTheCut cuts every format that zinc writes at many
// offsets: the error names the end of the file, and every complete part is printed.
func TestTruncatedFilesArePrintedUpToTheCut(t *testing.T) {
	container := compiled(t)
	streams, images := split(t, container)
	firmware := loaded(t, container)
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
		{name: "container", b: container, args: []string{"headers", "tasks", "symbols", "relocs"},
			parts: containerPartsOf(t, container)},
		{name: "records", b: streams, parts: records},
		{name: "images", b: images, parts: tasks},
		{name: "firmware", b: firmware},
	} {
		t.Run(c.name, func(t *testing.T) {
			if len(c.parts) == 0 && c.name != "firmware" {
				t.Fatal("the dump has no parts")
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
				ok, out, errs := dumped(t, c.b[:n], c.args...)
				if ok && c.name == "records" && (n-8)%td.RecordSize == 0 || ok &&
					c.name == "images" && (n-8)%td.ImageSize == 0 {
					continue // their number is not stored
				}
				if ok || !strings.Contains(errs, "byte 0x") ||
					strings.Contains(errs, "internal error") {
					t.Fatalf("cut at %#x: ok is %v\n%s", n, ok, errs)
				}
				for _, p := range c.parts {
					if p.end <= n && !strings.Contains(out, p.text) {
						t.Fatalf("cut at %#x: %q, which ends at %#x, is not printed\n%s", n, p.text, p.end, errs)
					}
				}
				if k%4 > 0 {
					continue
				}
				if ok, out, errs := dumped(t, c.b[:n], "json", "all"); ok ||
					!json.Valid([]byte(out)) {
					t.Fatalf("cut at %#x: all, json: ok is %v, JSON %v\n%s", n, ok,
						json.Valid([]byte(out)), errs)
				}
				if ok, _, errs := dumped(t, c.b[:n], "raw", "all"); ok {
					t.Fatalf("cut at %#x: all, raw: ok is %v\n%s", n, ok, errs)
				}
			}
		})
	}
}

// TestAppleContainersArePrinted prints every part of Apple's own containers, complete and
// truncated.
func TestAppleContainersArePrinted(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shareddir.Find(t), "golden", "apple-h13", "*.hwx"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		ok, out, errs := dumped(t, b, "all", "task=0", optionAllFields)
		for _, want := range []string{"procedure net: 1 tasks\n", "\nrecords of procedure net", "\nsymbols: ",
			"| ANEC v1", "task 0 of procedure net", "\n  NE: neural engine\n"} {
			if !ok || !strings.Contains(out, want) {
				t.Errorf("%s: ok is %v, no %q\n%s", filepath.Base(f), ok, want, errs)
			}
		}
		if ok, out, errs := dumped(t, b, "all", "task=0", "json"); !ok ||
			!json.Valid([]byte(out)) {
			t.Errorf("%s: json: ok is %v\n%s", filepath.Base(f), ok, errs)
		}
		for _, n := range []int{40, 1000, 0x1000, 0x4100, len(b) - 1} {
			if ok, _, errs := dumped(t, b[:n], "all"); ok &&
				n < 0x4200 {
				t.Errorf("%s cut at %#x: ok is %v\n%s", filepath.Base(f), n, ok, errs)
			}
		}
	}
}

// TestTasksWithoutFieldTableArePrintedAsWords also checks the line that explains it.
func TestTasksWithoutFieldTableArePrintedAsWords(t *testing.T) {
	b := compiled(t)
	b[8] = byte(target.H12.Subtype)
	ok, out, errs := dumped(t, b)
	if !ok || !strings.Contains(out,
		"the tasks of CPU subtype 3 are not decoded: only those of h13 (4), h14 (5), h15 (6), h16 (7), h17 (9), h18 "+
			"(10), h18g (11) have a field table; its words:\n") ||
		!strings.Contains(out, "\n00004000  00000000 ") || !strings.Contains(out, "tiles of K") {
		t.Errorf("ok is %v\n%s%s", ok, out, errs)
	}
	if ok, _, errs := dumped(t, b, "task=0"); ok ||
		!strings.Contains(errs, "field table; tasks prints their words") {
		t.Errorf("task: ok is %v: %s", ok, errs)
	}
	if ok, out, errs := dumped(t, b, "tasks", "json"); !ok || !json.Valid([]byte(out)) ||
		!strings.Contains(out, `"note":`) {
		t.Errorf("json: ok is %v\n%s", ok, errs)
	}
}
