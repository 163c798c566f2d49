package toolchain

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zinc-compiler/zinc/internal/node"
)

// Request is what an executable is asked to compile.
type Request struct {
	Model      string   // path of a model
	WeightsDir string   // folder for @model_path, "" for the model's own
	Target     string   // "" for the executable's default
	Flags      []string // more flags, each beginning with a dash, or their values
	Dir        string   // folder that the private folder is made in, "" for the system's
	NoPasses   bool     // leave out the programs after the passes
	Limits     Limits
}

// Limits bound a compilation; a zero takes the default.
type Limits struct {
	Time     time.Duration // default 5 minutes
	Messages int64         // bytes of what it says besides, default 1 MiB
	Programs int64         // bytes of the programs after all passes, lines cut, default 256 MiB
	Printed  int64         // bytes that it prints of them, default 64 GiB
	Report   int64         // bytes of its report, default 64 MiB
	Files    int64         // bytes of the pair and its database together, default 8 GiB
	// Memory bounds the resident bytes of the executable, 0 for no bound. They are looked
	// at now and then, on Linux alone.
	Memory int64
}

// defaultLimits are what zeros represent.
var defaultLimits = Limits{
	Time: 5 * time.Minute, Messages: 1 << 20, Programs: 256 << 20, Printed: 64 << 30, Report: 64 << 20, Files: 8 << 30,
}

func (l Limits) filled() Limits {
	d := defaultLimits
	for _, x := range []struct{ have, otherwise *int64 }{
		{(*int64)(&l.Time), (*int64)(&d.Time)}, {&l.Messages, &d.Messages}, {&l.Programs, &d.Programs},
		{&l.Printed, &d.Printed}, {&l.Report, &d.Report}, {&l.Files, &d.Files},
	} {
		if *x.have <= 0 {
			*x.have = *x.otherwise
		}
	}
	return l
}

// Result is a compilation by another executable. The files are in a private folder
// until Close.
type Result struct {
	Dir        string          // the private folder
	Container  string          // path of the .hwx
	Descriptor string          // path of the .e5
	Database   string          // path of the .zdb, "" where the executable writes none
	Report     json.RawMessage // as --report json gives it, nil where the executable gives none
	Passes     []Pass          // in the order in which they ran, function by function
	Messages   string          // what it said besides
	Missing    []string        // flags that the executable does not know, with their dashes
}

// Pass is the program after a pass.
type Pass struct {
	Name     string
	Function string // the first function of the text
	Path     string // of the text, each line cut as Lines says
	Bytes    int64  // of the text
	Lines    int
}

// Close removes the private folder.
func (r *Result) Close() error { return os.RemoveAll(r.Dir) }

// RefusedError reports that an executable did not compile a model.
type RefusedError struct {
	Executable string // its path
	Status     int    // its exit status: 1 the model, 2 the command line, 3 its own fault, -1 a signal
	Message    string // what it said, all lines; Error gives the first
}

func (e *RefusedError) Error() string {
	what := fmt.Sprintf("exit status %d", e.Status)
	switch e.Status {
	case 1:
		what = "it refuses the model"
	case 2:
		what = "it refuses the command line"
	case 3:
		what = "it failed internally"
	case -1:
		what = "it was killed"
	}
	s := e.Executable + ": " + what
	lines := strings.Split(strings.TrimSpace(e.Message), "\n")
	if first := strings.TrimPrefix(lines[0], "zinc: "); first != "" {
		s += ": " + node.Printable(first)
	}
	if n := len(lines) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more lines)", n)
	}
	return s
}

// taken are the flags that Compile sets itself, and those that would have the executable
// do something else than compile.
var taken = []string{
	"o", "output", "t", "target", "weights", "debug-db", "report", "print-after", "print-changed", elideFlag,
	"time-passes",
	"emit", "dry-run", "cache", "diagnostics", "help", "h", "version", "V", "cpuprofile", "memprofile",
}

func checkFlags(flags []string) error {
	for _, f := range flags {
		name, _, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		dash := strings.HasPrefix(f, "-")
		short := dash && !strings.HasPrefix(f, "--")
		switch {
		case f == "--" || f == "-":
			return fmt.Errorf("flag %q: want a flag, not an operand", f)
		case strings.ContainsRune(f, 0):
			return fmt.Errorf("flag %q contains a zero byte", f)
		case dash && slices.Contains(taken, name), short && slices.ContainsFunc(taken, func(t string) bool {
			return len(t) == 1 && strings.HasPrefix(name, t)
		}):
			return fmt.Errorf("flag %q: another executable is not run with it; model, target, weights and files "+
				"are told apart from flags", f)
		}
	}
	if len(flags) > 0 && !strings.HasPrefix(flags[0], "-") {
		return fmt.Errorf("flag %q must begin with a dash", flags[0])
	}
	return nil
}

// Compile compiles a model. A model that the executable refuses is a *RefusedError, a
// bound that it passed a *LimitError; the context's error is returned as it is. On an
// error nothing is left behind.
func (x *Executable) Compile(ctx context.Context, q Request) (_ *Result, err error) {
	if err := checkFlags(q.Flags); err != nil {
		return nil, err
	}
	if err := x.unchanged(); err != nil {
		return nil, err
	}
	limits := q.Limits.filled()
	model, err := filepath.Abs(q.Model)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(q.Dir, folderPattern)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	r := &Result{Dir: dir}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	out, texts := filepath.Join(dir, "out"), filepath.Join(dir, "passes")
	for _, d := range []string{out, texts} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, err
		}
	}
	args, err := x.arguments(&q, out, r)
	if err != nil {
		return nil, err
	}
	var report bytes.Buffer
	s := &splitter{dir: texts, limits: limits, r: r}
	lines := &Lines{Line: s.line}
	c := &child{
		path: x.Path, args: append(args, "--", model), dir: out, time: limits.Time, bytes: limits.Files,
		memory: limits.Memory,
		stdout: &bounded{w: &report, limit: limits.Report, what: "its report"},
		stderr: &bounded{w: lines, limit: limits.Printed, what: "what it prints of programs"},
	}
	err = c.run(ctx)
	err = cmp.Or(err, lines.Flush())
	err = cmp.Or(err, s.close())
	r.Messages = s.said.String()
	if err != nil {
		return nil, x.failed(ctx, err, r.Messages)
	}
	if json.Valid(report.Bytes()) {
		r.Report = report.Bytes()
	}
	return r, r.collect(out, x.Path)
}

// failed says why a run did not end well.
func (x *Executable) failed(ctx context.Context, err error, said string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if l := limited(err); l != nil {
		return fmt.Errorf("%s was stopped: %w", x.Path, l)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if !exit.Exited() {
			said = exit.String() + ": " + said
		}
		return &RefusedError{Executable: x.Path, Status: exit.ExitCode(), Message: said}
	}
	return fmt.Errorf("%s: %w", x.Path, err)
}

// arguments are the flags of a compilation, without those that the executable does not
// know.
func (x *Executable) arguments(q *Request, out string, r *Result) ([]string, error) {
	args := append([]string(nil), q.Flags...)
	args = append(args, "--output="+filepath.Join(out, containerName))
	if q.Target != "" {
		args = append(args, "--target="+q.Target)
	}
	if q.WeightsDir != "" {
		w, err := filepath.Abs(q.WeightsDir)
		if err != nil {
			return nil, err
		}
		args = append(args, "--weights="+w)
	}
	optional := []struct{ flag, value string }{
		{"debug-db", filepath.Join(out, databaseName)},
		{"report", "json"},
	}
	if !q.NoPasses {
		optional = append(optional, struct{ flag, value string }{"print-after", "all"})
	}
	for _, o := range optional {
		if x.flags[o.flag] {
			args = append(args, "--"+o.flag+"="+o.value)
		} else {
			r.Missing = append(r.Missing, "--"+o.flag)
		}
	}
	if !q.NoPasses && x.flags["print-after"] && x.Elides() {
		args = append(args, "--"+elideFlag) // as Lines would, without printing all the bytes
	}
	if x.flags["cache"] {
		args = append(args, "--cache=") // a pair from a cache has no passes
	}
	return args, nil
}

// Elides reports whether the executable prints large constants as Elided gives them,
// and not whole after each pass.
func (x *Executable) Elides() bool { return x.flags[elideFlag] }

// elideFlag has an executable print large constants as Elided gives them.
const elideFlag = "elide-constants"

// Names of what an executable writes.
const (
	containerName  = "model.hwx"
	descriptorName = "model.e5"
	databaseName   = "model.zdb"
)

// collect finds what was written.
func (r *Result) collect(out, path string) error {
	for _, f := range []struct {
		name   string
		at     *string
		needed bool
	}{{containerName, &r.Container, true}, {descriptorName, &r.Descriptor, true}, {databaseName, &r.Database, false}} {
		p := filepath.Join(out, f.name)
		info, err := os.Lstat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !f.needed:
			continue
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s succeeded but wrote no %s", path, f.name)
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s wrote %s as %s, want a regular file", path, f.name, info.Mode().Type())
		}
		*f.at = p
	}
	return nil
}
