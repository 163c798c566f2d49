package explore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/cmd/zinc/cli"
	"github.com/zinc-compiler/zinc/inspect/explore"
	"github.com/zinc-compiler/zinc/inspect/toolchain"
)

// beZinc has the test's own executable be a zinc, or an executable that is up to no
// good.
const beZinc = "EXPLORE_TEST_BE"

func TestMain(m *testing.M) {
	os.Setenv("ZINC_CACHE", "off") // a test must not use the user's cache
	switch os.Getenv(beZinc) {
	case "zinc":
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	case "hungry":
		var held [][]byte
		for {
			b := make([]byte, 16<<20)
			for i := range b {
				b[i] = 1
			}
			held = append(held, b)
			time.Sleep(time.Millisecond)
			runtime.KeepAlive(held)
		}
	}
	os.Exit(m.Run())
}

// versions are scripts that run the test's executable: one as it is, one with another
// form of tasks, and hostile ones, which answer as the others do until they compile.
var versions = []struct{ name, compile string }{
	{"again", `exec "$zinc" "$@"`},
	{"full", `exec "$zinc" --td-form=full "$@"`},
	{"old", `for a in "$@"; do shift; case "$a" in --debug-db=*) ;; *) set -- "$@" "$a";; esac; done; exec ` +
		`"$zinc" "$@"`},
	{"slow", `sleep 100`},
	{"hungry", beZinc + `=hungry exec "$zinc"`},
	{"liar", `for a in "$@"; do case "$a" in --output=*) echo none > "${a#--output=}"; echo none > ` +
		`"${a#--output=}x"; f="${a#--output=}"; echo none > "${f%hwx}e5";; esac; done`},
	{"mute", `exit 3`},
	{"strict", `exit 2`},
	{"void", `"$zinc" "$@" >/dev/null; echo '{"functions": [null]}'`},
}

// server serves digits and the versions.
func server(t *testing.T, l explore.Limits) (ask func(path string, body, into any) (int, string)) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh to make versions with")
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	dir := t.TempDir()
	o := explore.Options{
		Limits: l,
		Log:    io.Discard,
		Models: []explore.Source{{Path: "../../examples/digits/digits.mlmodelc"}},
	}
	for _, v := range versions {
		path := filepath.Join(dir, v.name)
		script := fmt.Sprintf("#!/bin/sh\nzinc='%s'\nexport %s=zinc\ncase \"$1\" in version|--help) exec \"$zinc\" "+
			"\"$@\";; esac\n%s\n", own, beZinc, v.compile)
		if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		x, err := toolchain.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		o.Versions = append(o.Versions, explore.Version{Name: v.name, Executable: x})
	}
	s, err := explore.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(tmp); len(left) > 0 {
			t.Errorf("the server left %v", left)
		}
	})
	return func(path string, body, into any) (int, string) {
		t.Helper()
		var r *http.Response
		var err error
		if body == nil {
			r, err = http.Get(h.URL + path)
		} else {
			b, _ := json.Marshal(body) // maps of strings always encode
			r, err = http.Post(h.URL+path, "application/json", bytes.NewReader(b))
		}
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{dir, tmp, own} {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s: the answer names %s: %.400s", path, secret, b)
			}
		}
		if into != nil {
			if r.StatusCode != http.StatusOK {
				t.Fatalf("%s: status %d: %.400s", path, r.StatusCode, b)
			}
			if err := json.Unmarshal(b, into); err != nil {
				t.Fatal(err)
			}
		}
		return r.StatusCode, string(b)
	}
}

// limits leave time for executables on a busy machine.
var limits = explore.Limits{
	Body: 1 << 20, Time: time.Hour, Heap: 1 << 30, Buffers: 1 << 28, Jobs: 2, Waiting: 16, Requests: 64, Views: 8,
	Kept: 64 << 20,
}

// made is what the tests look at of a compilation.
type made struct {
	Key    string
	OK     bool
	Error  string
	Tasks  int
	Places []struct {
		Line int
		Text string
	}
	Passes []struct {
		Pass    string
		Changed bool
		Lines   int
	}
}

type config map[string]any

// TestOtherVersionsOfZincCompile also compares them.
func TestOtherVersionsOfZincCompile(t *testing.T) {
	ask := server(t, limits)
	var list struct {
		Versions []struct {
			Name, Version string
			Running       bool
		}
	}
	ask("/api/models", nil, &list)
	if len(list.Versions) != len(versions)+1 || list.Versions[0].Name != "this" || !list.Versions[0].Running ||
		list.Versions[2].Name != "full" || list.Versions[2].Running {
		t.Fatalf("%+v", list)
	}
	var this, full made
	ask("/api/compile", config{"model": "digits", "td_form": "full"}, &this)
	ask("/api/compile", config{"model": "digits", "version": "full"}, &full)
	if !full.OK || full.Tasks != this.Tasks || full.Key == this.Key || len(full.Passes) != len(this.Passes) {
		t.Fatalf("%+v, this one %+v", full, this)
	}
	for i, p := range full.Passes {
		if p.Pass != this.Passes[i].Pass || p.Changed != this.Passes[i].Changed || p.Lines == 0 {
			t.Errorf("pass %d is %+v, of this one %+v", i, p, this.Passes[i])
		}
	}
	// The whole page is there: tasks, bytes, links both ways, outputs.
	for _, path := range []string{"/tasks", "/task?task=3", "/bytes?section=text", "/bytes?section=constants",
		"/container", "/chain", "/links?kind=task&id=2", "/links?kind=text&id=512", "/statements"} {
		_, a := ask("/api/view/"+this.Key+path, nil, new(any))
		_, b := ask("/api/view/"+full.Key+path, nil, new(any))
		// The banner tells the name of the file alone, so that all is as by this one.
		if a != b {
			t.Errorf("%s: %.300s\nthis one %.300s", path, b, a)
		}
	}
	var lines struct {
		Rows []struct {
			Text, Kind string
			Statements []int
		}
	}
	ask("/api/view/"+full.Key+"/ir", nil, &lines)
	for _, l := range lines.Rows {
		if l.Kind == "op" && len(l.Statements) == 0 {
			t.Errorf("%q came from nothing", l.Text)
		}
	}
	type outputs struct{ Outputs []struct{ First []float64 } }
	var a, b outputs
	ask("/api/view/"+this.Key+"/run", config{"seed": 3}, &a)
	ask("/api/view/"+full.Key+"/run", config{"seed": 3}, &b)
	if fmt.Sprint(a) != fmt.Sprint(b) || len(a.Outputs) != 1 {
		t.Errorf("outputs %v, this one's %v", b, a)
	}

	// One that writes no debug database is linked by names.
	var old struct {
		made
		Unlinked bool
	}
	ask("/api/compile", config{"model": "digits", "version": "old"}, &old)
	if !old.OK || !old.Unlinked || old.Tasks != this.Tasks || len(old.Passes) != len(this.Passes) {
		t.Fatalf("%+v", old)
	}
	type listOf[T any] struct{ Rows []T }
	type row struct {
		Op, Rule   string
		Words      int
		Statements []int
	}
	type stmt struct{ Name, Op string }
	var tasks, want listOf[row]
	var stmts listOf[stmt]
	ask("/api/view/"+old.Key+"/tasks", nil, &tasks)
	ask("/api/view/"+again(t, ask)+"/tasks", nil, &want)
	ask("/api/view/"+old.Key+"/statements", nil, &stmts)
	if len(tasks.Rows) == 0 || len(tasks.Rows) != len(want.Rows) {
		t.Fatalf("%d tasks, want %d", len(tasks.Rows), len(want.Rows))
	}
	for i, r := range tasks.Rows {
		w := want.Rows[i]
		if r.Op != w.Op || r.Rule != w.Rule || r.Words != w.Words || len(r.Statements) != 1 ||
			stmts.Rows[r.Statements[0]].Name != r.Op {
			t.Errorf("task %d is %+v, want %+v", i, r, w)
			continue
		}
		var l struct{ Tasks []int }
		ask(fmt.Sprintf("/api/view/%s/links?kind=statement&id=%d", old.Key, r.Statements[0]), nil, &l)
		if !slices.Contains(l.Tasks, i) {
			t.Errorf("statement %d has tasks %v, not %d", r.Statements[0], l.Tasks, i)
		}
	}
	for _, path := range []string{"/task?task=3", "/bytes?section=text", "/bytes?section=constants",
		"/bytes?section=file", "/container", "/chain", "/links?kind=task&id=2", "/links?kind=constants&id=64",
		"/links?kind=operation&id=0"} {
		ask("/api/view/"+old.Key+path, nil, new(any))
	}

	// What is wrong with a text has its place, and so has what no version knows.
	var src struct{ Text string }
	ask("/api/source?model=digits", nil, &src)
	wrong := strings.Replace(src.Text, "relu(x = conv1)", "relu(x = conv9)", 1)
	line := strings.Count(src.Text[:strings.Index(src.Text, "relu(x = conv1)")], "\n") + 1
	var bad made
	ask("/api/compile", config{"model": "digits", "version": "again", "text": wrong}, &bad)
	if bad.OK || bad.Error != "1 error of again" || len(bad.Places) != 1 || bad.Places[0].Line != line ||
		!strings.Contains(bad.Places[0].Text, "^~~~~") {
		t.Errorf("%+v", bad)
	}
	for _, name := range []string{"none", "/bin/sh", "../full", "full ", "FULL"} {
		if status, b := ask("/api/compile", config{"model": "digits", "version": name},
			nil); status != http.StatusBadRequest || !strings.Contains(b, "want one of this, again, full, old") {
			t.Errorf("version %q: status %d: %s", name, status, b)
		}
	}

	// Both sides of a comparison choose their own.
	type change struct {
		Level, Subject string
		Details        []string
		Effects        []change
	}
	var d struct {
		Same    bool
		Changes []change
		Levels  []struct{ Level, Missing string }
		Ranges  []any
	}
	compare := func(a, b config) {
		t.Helper()
		d.Changes, d.Levels, d.Ranges = nil, nil, nil
		ask("/api/diff", config{"a": a, "b": b, "bytes": true}, &d)
	}
	compare(config{"model": "digits"}, config{"model": "digits", "version": "again"})
	if len(d.Changes) != 1 || d.Changes[0].Level != "settings" || d.Changes[0].Details[0] != "this -> again" ||
		len(d.Changes[0].Effects) > 0 || len(d.Ranges) > 0 {
		t.Errorf("the same executable: %+v", d)
	}
	compare(config{"model": "digits", "version": "again"}, config{"model": "digits", "version": "full"})
	if len(d.Changes) != 1 || d.Changes[0].Details[0] != "again -> full" || len(d.Changes[0].Effects) == 0 ||
		len(d.Ranges) == 0 {
		t.Errorf("another form of tasks: %+v", d)
	}
	for _, e := range d.Changes[0].Effects {
		if e.Level != "tasks" && e.Level != "container" {
			t.Errorf("effect %+v", e)
		}
	}
	changed := strings.Replace(src.Text, "relu(x = conv1)", "sigmoid(x = conv1)", 1)
	compare(config{"model": "digits", "version": "again"}, config{
		"model":   "digits",
		"version": "again",
		"text":    changed,
	})
	found := map[string]bool{}
	for _, c := range d.Changes {
		found[c.Level] = true
		for _, e := range c.Effects {
			found[e.Level] = true
		}
	}
	if len(d.Changes) != 1 || !found["mil"] || !found["passes"] || !found["tasks"] {
		t.Errorf("an edited operation: %+v", d)
	}
}

// again compiles digits with the version that differs in nothing.
func again(t *testing.T, ask func(string, any, any) (int, string)) string {
	t.Helper()
	var m made
	ask("/api/compile", config{"model": "digits", "version": "again"}, &m)
	return m.Key
}

// TestHostileVersionsAreBounded has executables that fail: their limits hold and the server continues.
func TestHostileVersionsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for limits")
	}
	// Only the executable that sleeps may meet the limit of time, however busy the machine is.
	hasty, patient := limits, limits
	hasty.Time, patient.Time = 4*time.Second, time.Hour
	patient.Heap = 512 << 20
	hastily, ask := server(t, hasty), server(t, patient)
	for _, x := range []struct {
		version string
		status  int
		want    string
	}{
		{"slow", http.StatusUnprocessableEntity, "the limit of 4s"},
		{"hungry", http.StatusUnprocessableEntity,
			"compiling with hungry stopped: its memory exceeded the limit of 512 MiB"},
		{"liar", http.StatusOK, "what liar wrote does not read: container: "},
		{"mute", http.StatusOK, "mute: it failed internally"},
		{"strict", http.StatusOK, "strict: it refuses the command line"},
		{"void", http.StatusOK, "what void wrote does not read: report: functions: one is null"},
	} {
		if x.version == "hungry" && runtime.GOOS != "linux" {
			continue
		}
		ask := ask
		if x.version == "slow" {
			ask = hastily
		}
		c := config{"model": "digits", "version": x.version}
		if status, b := ask("/api/compile", c, nil); status != x.status || !strings.Contains(b, x.want) {
			t.Errorf("%s: status %d: %s, want %d with %q", x.version, status, b, x.status, x.want)
		}
		// On a side of a comparison it is a limit, or a side without a pair.
		status, b := ask("/api/diff", config{"a": config{"model": "digits"}, "b": c}, nil)
		if status != x.status || status == http.StatusOK && !strings.Contains(b, x.version) {
			t.Errorf("%s on side B: status %d: %s", x.version, status, b)
		}
	}
	for _, ask := range []func(string, any, any) (int, string){hastily, ask} {
		// Both servers still answer; a compilation may take longer than the hasty one allows.
		if status, b := ask("/api/compile", config{"model": "digits"}, nil); status != http.StatusOK &&
			!strings.Contains(b, "the limit of 4s") {
			t.Errorf("status %d: %s", status, b)
		}
	}
}

// TestAmbiguousVersionNamesAreRefused has names that cannot be distinguished.
func TestAmbiguousVersionNamesAreRefused(t *testing.T) {
	x := &toolchain.Executable{}
	for _, vs := range [][]explore.Version{
		{{Name: "", Executable: x}},
		{{Name: "this", Executable: x}},
		{{Name: "a\nb", Executable: x}},
		{{Name: strings.Repeat("a", 65), Executable: x}},
		{{Name: "a", Executable: x}, {Name: "a", Executable: x}},
		{{Name: "a"}},
	} {
		if err := explore.CheckVersions(vs); err == nil {
			t.Errorf("%+v is taken", vs)
		}
	}
	if err := explore.CheckVersions([]explore.Version{{Name: "last year's", Executable: x},
		{Name: "b", Executable: x}}); err != nil {
		t.Error(err)
	}
}
