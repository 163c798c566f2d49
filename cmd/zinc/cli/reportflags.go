package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
)

// reportOutput is one requested report.
type reportOutput struct {
	format *report.Format
	file   string // "" for standard output
}

// reportFlag is the value of --report, which may be repeated.
type reportFlag struct{ list []reportOutput }

// noReport is the value of --report for none.
const noReport = "none"

func (r *reportFlag) register(f *pflag.FlagSet) {
	var docs []string
	for _, x := range report.Formats {
		docs = append(docs, fmt.Sprintf("%s (%s)", x.Name, x.Doc))
	}
	f.Var(r, "report", "write a report to standard output or a file: "+
		strings.Join(docs, ", ")+" (repeatable)")
}

func (r *reportFlag) Type() string { return "FORMAT[=FILE]" }

func (r *reportFlag) String() string {
	var ss []string
	for _, o := range r.list {
		s := o.format.Name
		if o.file != "" {
			s += "=" + o.file
		}
		ss = append(ss, s)
	}
	return strings.Join(ss, ",")
}

// Set implements pflag.Value.
func (r *reportFlag) Set(s string) error {
	name, file, toFile := strings.Cut(s, "=")
	if file == stdoutName {
		file, toFile = "", false
	}
	if name == noReport && !toFile {
		r.list = nil
		return nil
	}
	format := report.Lookup(name)
	switch {
	case format == nil:
		return fmt.Errorf("must be %s or %s, optionally with =FILE", noReport,
			strings.Join(report.Names(), " or "))
	case toFile && file == "":
		return fmt.Errorf("missing file name after %s=", name)
	case !toFile && r.stdout() != nil:
		return fmt.Errorf("%s already goes to standard output; write one of the two to a file with %s=FILE", r.stdout().
			Name, name)
	}
	for _, o := range r.list {
		if toFile && o.file != "" && filepath.Clean(o.file) == filepath.Clean(file) {
			return fmt.Errorf("%s is written twice", file)
		}
	}
	r.list = append(r.list, reportOutput{format, file})
	return nil
}

// stdout returns the format that goes to standard output, nil for none.
func (r *reportFlag) stdout() *report.Format {
	for _, o := range r.list {
		if o.file == "" {
			return o.format
		}
	}
	return nil
}

// apart returns a report's file that is also one of paths, "" for none.
func (r *reportFlag) apart(others ...string) error {
	for _, o := range r.list {
		for _, p := range others {
			if o.file != "" && p != "" && (filepath.Clean(o.file) == filepath.Clean(p) || sameFile(o.file, p)) {
				return usagef("--report %s=%s would replace %s", o.format.Name, o.file, p)
			}
		}
	}
	return nil
}

// files returns the reports that go into files.
func (r *reportFlag) files(d *report.Document) []atomicfile.File {
	var fs []atomicfile.File
	for _, o := range r.list {
		if o.file != "" {
			write := func(w io.Writer) error { return o.format.Write(w, d) }
			fs = append(fs, atomicfile.File{Path: o.file, Write: write})
		}
	}
	return fs
}

// print writes the report for standard output.
func (r *reportFlag) print(e *env, d *report.Document) error {
	switch f := r.stdout(); {
	case f == nil:
		return nil
	case f.Name == report.TextFormat:
		return e.printText(answerTints, func(w io.Writer) error { return f.Write(w, d) })
	default:
		return f.Write(e.out, d)
	}
}
