package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/filename"
	"github.com/zinc-compiler/zinc/passes"
)

// phaseFlags stop a compilation after a pass, or continue it from there.
type phaseFlags struct {
	to, from string
}

const (
	irExt     = ".ir"
	irDataExt = ".irdata" // of the file with the large constants, beside the text
)

func (p *phaseFlags) register(f *pflag.FlagSet) {
	f.StringVar(&p.to, "to", "", "stop after `PASS` and write the program as IR text, with large constants beside it")
	f.StringVar(&p.from, "from", "", "MODEL is IR text that --to=`PASS` wrote, or that a fault in PASS left: "+
		"run the remaining passes")
}

func (p *phaseFlags) check() error {
	for _, f := range []struct{ flag, pass string }{{"to", p.to}, {"from", p.from}} {
		if f.pass != "" && (f.pass == "all" || !passes.Known(f.pass)) {
			return usagef("--%s=%s: unknown pass; passes are %s", f.flag, f.pass, strings.Join(passes.Names(), ", "))
		}
	}
	return nil
}

// isIR reports whether the file at path is IR text.
func isIR(path string) bool { return headIs(path, compile.IsSnapshot) }

// headIs reports whether is accepts the first bytes of the file at path. It returns false on errors, which opening the
// file will report.
func headIs(path string, is func(head []byte) bool) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 32)
	n, _ := io.ReadFull(f, head)
	return is(head[:n])
}

// whole returns an error for flags that require a complete compilation from a model.
func (c *compileCommand) whole() error {
	switch {
	case c.emission() != nil || c.debug != "":
		return usagef("--to and --from cannot be combined with --emit or --debug-db")
	case c.to != "" && (c.reports.list != nil || len(c.budgets.limits) > 0):
		return usagef("--to=%s cannot be combined with reports or budgets, which require a complete compilation", c.to)
	case c.budgets.base != "":
		return usagef("--base cannot be combined with --to, --from or IR text, whose flags are fixed")
	}
	return nil
}

// modelToIR compiles the model at path to IR text.
func (c *compileCommand) modelToIR(ctx context.Context, path string) error {
	if err := c.whole(); err != nil {
		return err
	}
	m, err := c.open(c.env, path)
	if err != nil {
		return err
	}
	defer m.Close()
	p := c.env.newProgress(c.progress)
	defer p.end()
	o, err := c.options(c.env, m.Path, p)
	if err != nil {
		return err
	}
	o.Until = c.to
	var s *compile.Snapshot
	if err := compile.Compile(ctx, m.Program, o, compile.Sink{Snapshot: compile.To(&s)}); err != nil {
		return err
	}
	return c.writeIR(ctx, s, path)
}

// compileIR compiles the IR text at path to a pair or, with --to, to IR text.
func (c *compileCommand) compileIR(ctx context.Context, path string) error {
	if err := c.whole(); err != nil {
		return err
	}
	for _, name := range []string{"target", "precision", "place", "func", "shape", "weights"} {
		if c.flags.Changed(name) {
			return usagef("--%s: the value for %s was fixed when it was written; set the flag together with --to", name,
				path)
		}
	}
	p := c.env.newProgress(c.progress)
	defer p.end()
	o, err := c.options(c.env, path, p)
	if err != nil {
		return err
	}
	s, closeData, err := readIR(path)
	if err != nil {
		return err
	}
	defer closeData() // only read from
	if c.from != "" && c.from != s.After && c.from != s.Next() {
		return usagef("--from=%s: %s is the program after pass %s", c.from, path, s.After)
	}
	if o.Until = c.to; c.to != "" {
		if err := s.Compile(ctx, o, compile.Sink{Snapshot: compile.To(&s)}); err != nil {
			return err
		}
		return c.writeIR(ctx, s, path)
	}
	to, err := c.pairPaths(c.out, path)
	if err != nil {
		return err
	}
	stored := c.storing(to.Container)
	defer stored.close()
	r := new(compile.Result)
	if err := s.Compile(ctx, o, c.pairSink(stored)(r)); err != nil {
		return err
	}
	p.end()
	c.doc = &report.Document{
		Model:      filepath.ToSlash(path),
		Report:     r.Report,
		Violations: report.Judge(r.Report, nil, c.budgets.limits),
	}
	if err := c.write(ctx, stored.files(r, to), c.reports.files(c.doc)); err != nil {
		return err
	}
	return c.tell()
}

// writeIR writes a snapshot of the model at path.
func (c *compileCommand) writeIR(ctx context.Context, s *compile.Snapshot, path string) error {
	out, err := c.out, error(nil)
	if out == "" {
		if out, err = defaultName(path, irExt); err != nil {
			return err
		}
	}
	if out == stdoutName {
		return usagef("-o -: IR text stores large constants in a second file; want a file name")
	}
	if beside(out, irDataExt) == out || sameFile(out, path) {
		return usagef("-o %s: want the name of a new file, such as model%s", out, irExt)
	}
	files, err := irFiles(s, out)
	if err != nil {
		return err
	}
	if err := c.write(ctx, files, nil); err != nil {
		return err
	}
	c.note("%s is the program after pass %s", out, s.After)
	return nil
}

// irFiles are the files of a snapshot whose text is to be at path.
func irFiles(s *compile.Snapshot, path string) ([]atomicfile.File, error) {
	text, data, err := s.Encode()
	if err != nil {
		return nil, err
	}
	files := []atomicfile.File{{Path: path, Write: content(text)}}
	second := beside(path, irDataExt)
	if _, err := os.Lstat(second); data.Size() > 0 || err == nil { // an older file would be read with this text
		files = append(files, atomicfile.File{Path: second, Write: parts(data.Parts)})
	}
	return files, nil
}

// beside returns the path with another extension.
func beside(path, ext string) string {
	return filename.Beside(strings.TrimSuffix(path, filepath.Ext(path)), ext)
}

// readIR reads IR text and maps the file of constants beside it, which closeData unmaps.
func readIR(path string) (s *compile.Snapshot, closeData func() error, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	closeData = func() error { return nil }
	var data []byte
	second := beside(path, irDataExt)
	if info, err := os.Stat(second); err == nil && info.Size() > 0 {
		if data, closeData, err = blobfile.Map(second); err != nil {
			return nil, nil, err
		}
	}
	if s, err = compile.ReadSnapshot(path, text, data); err != nil {
		closeData() // only read from
		return nil, nil, err
	}
	return s, closeData, nil
}
