package explore

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/inspect/compare"
	"github.com/zinc-compiler/zinc/inspect/toolchain"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// maxText bounds the total text of programs that another version prints. maxPrinted bounds the constants of a model
// whose programs are requested from a version that prints every constant in full after each pass.
const (
	maxText    = 4 << 30
	maxPrinted = 8 << 20
)

// atPath calls f with the path of the configuration's text and the folder of its weights. The text is the one that the
// server shows, even if the model's file has changed.
func (s *Server) atPath(m *model, c *Config, f func(path, weights string) error) error {
	if m.Fixed {
		return f(m.source.Path, m.source.Weights)
	}
	dir, err := os.MkdirTemp(s.folder, "text-")
	if err != nil {
		return &faultError{err}
	}
	defer os.RemoveAll(dir)
	text := m.text
	if c.Text != nil {
		text = *c.Text
	}
	path := filepath.Join(dir, m.file)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return &faultError{err}
	}
	weights := m.source.Weights
	weights = cmp.Or(weights, m.folder)
	return f(path, weights)
}

// toolLimits are the limits of a compilation by another version.
func (s *Server) toolLimits() toolchain.Limits {
	return toolchain.Limits{
		Time:     s.limits.Time,
		Files:    s.limits.Kept,
		Printed:  maxText,
		Programs: maxSnapshots,
		Memory:   int64(s.limits.Heap),
	}
}

// tooMuchToPrint reports whether an executable would print more constants than the server reads.
func tooMuchToPrint(m *model, x *toolchain.Executable) bool {
	return m.constants > maxPrinted && !x.Elides()
}

// buildBy compiles a configuration with another zinc and fills the view with its output. Refusals and unreadable files
// are part of the view.
func (s *Server) buildBy(ctx context.Context, v *view, x *toolchain.Executable) error {
	o, err := v.config.options(v.model.file)
	if err != nil {
		return err
	}
	var r *toolchain.Result
	left := tooMuchToPrint(v.model, x)
	err = s.atPath(v.model, &v.config, func(path, weights string) (err error) {
		r, err = x.Compile(ctx, toolchain.Request{
			Model: path, WeightsDir: weights, Target: v.config.Target, Flags: compare.Flags(&o), Dir: s.folder,
			NoPasses: left, Limits: s.toolLimits(),
		})
		return err
	})
	var refused *toolchain.RefusedError
	var limit *toolchain.LimitError
	switch {
	case errors.As(err, &refused):
		v.foreign = placesOf(s.discreet(refused.Message))
		v.failure = s.discreet(refused.Error())
		if n := countErrors(v.foreign); n > 0 && refused.Status == 1 {
			v.failure = fmt.Sprintf("%s of %s", errorCount(n), v.config.Version)
		}
		return nil
	case errors.As(err, &limit):
		return &limitError{"compiling with " + v.config.Version, limit.Error(), false}
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		// For example, the executable has changed since it was opened.
		return &requestError{http.StatusUnprocessableEntity, errors.New(s.discreet(err.Error()))}
	}
	defer r.Close()
	return v.takeResult(s, r, left)
}

// takeResult fills the view with the output of another zinc; left is set if its programs were not requested.
func (v *view) takeResult(s *Server, r *toolchain.Result, left bool) error {
	unread := func(err error) error {
		v.failure = fmt.Sprintf("what %s wrote does not read: %s", v.config.Version, err)
		return nil
	}
	files, err := compare.PairOf(r)
	if err != nil {
		return unread(err)
	}
	f, err := hwx.Read(files.Container)
	if err != nil {
		return unread(fmt.Errorf("container: %w", err))
	}
	p, err := e5.Read(files.Descriptor)
	if err != nil {
		return unread(fmt.Errorf("descriptor: %w", err))
	}
	report, err := compare.ReportOf(r)
	if err != nil {
		return unread(fmt.Errorf("report: %w", err))
	}
	if report == nil {
		report = &compile.Report{Target: v.config.Target}
	}
	reports := report.Functions
	if len(reports) == 0 {
		reports = []*compile.Report{report}
	}
	v.codec, _ = td.CodecFor(f.TaskVersion())
	v.text = bytes.Clone(f.TextBytes())
	v.container = mapContainer(f, int64(len(files.Container)))
	v.chain = chainOf(p)
	v.db = compare.DatabaseOf(r, files.Container)
	if v.db == nil {
		v.unlinked = true
		if v.db, err = v.linkByNames(f, reports); err != nil {
			return unread(fmt.Errorf("container: %w", err))
		}
	}
	v.listStatements()
	if err := v.readPasses(r.Passes, left); err != nil {
		return err
	}
	v.pairOperations()
	if v.tasks, err = taskRows(v.db, reports); err != nil {
		return unread(fmt.Errorf("debug database: %w", err))
	}
	if t, err := target.Lookup(v.config.Target); err == nil {
		v.describeTasks(t)
	}
	if v.files, err = s.adopt(r); err != nil {
		return &faultError{err}
	}
	v.report = report
	return nil
}

// adopt moves the files of a pair out of the folder of a compilation.
func (s *Server) adopt(r *toolchain.Result) (*pairFiles, error) {
	p := &pairFiles{}
	for _, x := range []struct {
		from string
		to   *spilled
	}{{r.Container, &p.container}, {r.Descriptor, &p.descriptor}} {
		f, err := os.CreateTemp(s.folder, "pair-*")
		if err == nil {
			name := f.Name()
			f.Close()
			if err = os.Rename(x.from, name); err == nil {
				f, err = os.Open(name)
			}
			if err != nil {
				os.Remove(name)
			}
		}
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		x.to.f = f
		info, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		x.to.size = info.Size()
	}
	return p, nil
}

// readPasses reads the programs that another zinc printed; left is set if they were not requested.
func (v *view) readPasses(passes []toolchain.Pass, left bool) error {
	byLine := map[int32][]int32{}
	for i := range v.statements {
		byLine[v.statements[i].Line] = append(byLine[v.statements[i].Line], int32(i))
	}
	last := map[string]*snapshot{}
	size := 0
	for _, p := range passes {
		x := &snapshot{Pass: p.Name, Func: p.Function, Changed: true}
		f, err := os.Open(p.Path)
		if err != nil {
			return &faultError{err}
		}
		in := bufio.NewScanner(f)
		in.Buffer(nil, 1<<20) // lines are already truncated
		for in.Scan() {
			if size >= maxSnapshots {
				x.lines = append(x.lines, leftOut(size))
				break
			}
			l := in.Text()
			if l == "" && len(x.lines) == 0 {
				continue
			}
			if strings.HasPrefix(l, "program ") || strings.HasPrefix(l, "file ") || strings.HasPrefix(l, "build ") {
				continue
			}
			row := printedLine(l, v.statements, byLine)
			size += len(row.Text) + 100
			if row.Kind == "op" {
				x.Ops++
			}
			x.lines = append(x.lines, row)
		}
		f.Close()
		if err := in.Err(); err != nil {
			return &faultError{err}
		}
		x.Lines = len(x.lines)
		if before := last[p.Function]; before != nil && slices.EqualFunc(before.lines, x.lines, func(a, b irLine) bool {
			return a.Text == b.Text
		}) {
			x.Changed, x.lines = false, before.lines
		}
		last[p.Function] = x
		v.passes = append(v.passes, x)
	}
	if len(passes) == 0 {
		why := v.config.Version + " does not print its programs"
		if left {
			why = fmt.Sprintf("omitted: %s prints its programs with all constants, %d bytes after each pass; the "+
				"limit is "+
				"%d", v.config.Version, v.model.constants, maxPrinted)
		}
		v.passes = []*snapshot{{Pass: "programs", What: why, Changed: true, Lines: 1,
			lines: []irLine{{Text: why, Kind: "end"}}}}
	}
	return nil
}

// printedLine converts a line of a printed program to a row. It came from the statement at its source position.
func printedLine(l string, statements []statement, byLine map[int32][]int32) irLine {
	text, place, subject := compare.ReadPrinted(l)
	row := irLine{Text: clip(strings.ToValidUTF8(text, "\ufffd"))}
	kind, name, _ := strings.Cut(subject, "%")
	row.Kind, row.Name = strings.TrimSpace(kind), name
	switch row.Kind {
	case "":
		row.Kind = "op"
	case "const", "func", "return":
	default:
		row.Kind = "end"
	}
	var file, line, col int64
	if n, _ := fmt.Sscanf(place, "%d:%d:%d", &file, &line, &col); n < 3 || row.Kind == "return" || row.Kind == "func" {
		return row
	}
	// Printed positions are positions of names; a statement's position is its beginning.
	for _, i := range byLine[int32(line)] {
		if s := &statements[i]; s.Name == row.Name || int64(s.Col) == col {
			row.Statements = []int32{i}
			break
		}
	}
	if ids := byLine[int32(line)]; row.Statements == nil && len(ids) > 0 {
		row.Statements = ids[:1:1]
	}
	return row
}

// diagnosticHead is the first line of a diagnostic.
var diagnosticHead = regexp.MustCompile(`^[^:\s][^:]*:(\d+):(\d+): (error|warning|note): `)

// placesOf extracts the diagnostics from the messages of another zinc. A diagnostic extends to the next headline.
func placesOf(message string) (out []place) {
	for _, l := range strings.SplitAfter(message, "\n") {
		if m := diagnosticHead.FindStringSubmatch(l); m != nil && len(out) < maxPlaces {
			line, _ := strconv.Atoi(m[1])
			col, _ := strconv.Atoi(m[2])
			out = append(out, place{Line: line, Column: col, Severity: m[3]})
		}
		if n := len(out); n > 0 {
			out[n-1].Text += strings.ToValidUTF8(l, "\ufffd")
		}
	}
	return out
}

// countErrors counts the errors among places.
func countErrors(ps []place) (n int) {
	for i := range ps {
		if ps[i].Severity == "error" {
			n++
		}
	}
	return n
}
