package computeplan

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/zinc-compiler/zinc/internal/regularfile"
)

// folderFiles are the files of dumps that are folders.
var folderFiles = []string{"report.json", "analytics.mil", "compute_plan.json"}

// Read reads the dump at a path: a file, or a folder as Xcode saves it. in reads standard input; nil if "-" is the name
// of a file.
func Read(path string, in *regularfile.Input) (*Plan, error) {
	data, file, err := Text(path, in)
	if err != nil {
		return nil, err
	}
	if in.IsStdin(file) {
		file = "stdin"
	}
	return Parse(file, data)
}

// Text returns the bytes of the dump at a path and the path of its file, as Read reads them.
func Text(path string, in *regularfile.Input) (data []byte, file string, err error) {
	if in.IsStdin(path) {
		data, err = in.ReadUpTo(path, MaxBytes)
		return data, path, err
	}
	if file, err = filePath(path); err != nil {
		return nil, "", err
	}
	data, err = regularfile.ReadUpTo(file, MaxBytes)
	return data, file, err
}

// filePath returns the path of the dump's file.
func filePath(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return path, nil
	}
	for _, name := range folderFiles {
		file := filepath.Join(path, name)
		if _, err := os.Stat(file); err == nil {
			return file, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", &Error{File: path, Rule: "the folder has no " + strings.Join(folderFiles, ", "),
		Hint: "name the file of the dump"}
}

// Forms are the formats that Parse reads.
const Forms = "Xcode's performance report (.mlperf or report.json), JSON of MLComputePlan (operations with a " +
	"preferred device, as documents, lists or lines), Core ML's analytics (MIL text, property list or CSV), " +
	"a table or log of operations, a CoreMLInspect listing, and summaries of counts"

// unknown is the error for a file of another format.
func unknown(file string) error {
	return &Error{File: file, Rule: "not a dump of Core ML's placement", Hint: "zinc reads " + Forms}
}

// byteOrderMarks begin texts that are not UTF-8, or that a mark precedes.
var byteOrderMarks = []struct {
	mark, name string
}{{"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"}, {"\x1f\x8b", "gzip"}, {"PK\x03\x04", "zip"}, {"bplist", "binary"}}

// Parse reads a dump. file is its name in errors.
func Parse(file string, data []byte) (*Plan, error) {
	if len(data) > MaxBytes {
		return nil, &Error{File: file, Rule: fmt.Sprintf("want at most %d bytes", MaxBytes),
			Value: fmt.Sprint(len(data))}
	}
	for _, m := range byteOrderMarks {
		if bytes.HasPrefix(data, []byte(m.mark)) {
			return nil, &Error{File: file, Rule: "want text in UTF-8", Value: m.name, Hint: "convert it first"}
		}
	}
	src := strings.TrimPrefix(string(data), "\ufeff")
	p, err := parse(file, src)
	if err != nil {
		return nil, err
	}
	if m := bundle.FindStringSubmatch(src); m != nil && p.Machine == "" {
		p.Machine = m[1]
	}
	return p, nil
}

// bundle is in the path of a program's analytics: the chip's name.
var bundle = regexp.MustCompile(`/(H\d+[A-Z]?)\.bundle/`)

// parse decides what the text is.
func parse(file, src string) (*Plan, error) {
	begin := strings.TrimLeft(src, " \t\r\n")
	switch {
	case begin == "":
		return nil, &Error{File: file, Rule: "the file is empty"}
	case isProgram.MatchString(begin):
		if !isAnalytics(src) {
			return nil, &Error{File: file, Rule: "this is a model's program, not a plan of it",
				Hint: "dump the plan on a Mac; examples/coreml has programs that do"}
		}
		return readAnalytics(file, src)
	case isDictionary.MatchString(src):
		return readDictionaries(file, src)
	case isJSON.MatchString(begin):
		return readJSON(file, src)
	}
	number := 0
	for line := range strings.Lines(src) {
		if number++; number > maxHeader {
			break
		}
		if p, err := byLine(file, src, line); p != nil || err != nil {
			return p, err
		}
	}
	return nil, unknown(file)
}

// isProgram is the beginning of a MIL text, maybe after comments.
var isProgram = regexp.MustCompile(`^(?://[^\n]*\n\s*)*program\s*\(`)

// jsonInLine is an object after a log's prefix.
var jsonInLine = regexp.MustCompile(`\{\s*"`)

// isJSON is the beginning of a document, not of a log's line.
var isJSON = regexp.MustCompile(`^(?:\{|\[\s*[\[{"\]])`)

// maxHeader is the number of lines at the beginning of a text that may be of something else.
const maxHeader = 1000

// byLine reads the text in the format that a line of it has; it returns nil if it has none.
func byLine(file, src, line string) (*Plan, error) {
	for _, separator := range []byte{'\t', ',', ';'} {
		cells := splitRow(line, separator)
		if _, ok := parseHeader(cells); ok && len(cells) > 2 {
			return readTable(file, src, separator)
		}
	}
	switch {
	case isJSON.MatchString(line):
		return readJSON(file, src)
	case logLine.MatchString(strings.TrimRight(line, "\r\n")):
		return readLog(file, src)
	case isStudyRow(line):
		return readTable(file, src, '\t')
	case shareLine.MatchString(line):
		return readSummary(file, src)
	case inspectLine.MatchString(line):
		return readInspect(file, src)
	case jsonInLine.MatchString(line):
		return readJSON(file, src)
	}
	return nil, nil
}

// isStudyRow reports whether a line is a row of a table without a header.
func isStudyRow(line string) bool {
	cells := splitRow(line, '\t')
	if len(cells) < studyHeader.count {
		return false
	}
	_, device := parseDevice(studyHeader.cell(cells, fieldPreferred))
	_, bad := parseDevices(studyHeader.cell(cells, fieldSupported))
	return device && bad == ""
}

// isDictionary is in a text of old-style property lists.
var isDictionary = regexp.MustCompile(`(?m)^\s*"?(?:SelectedBackend|BackendSupport|EstimatedRunTime|OpType)"? = `)

// readDictionaries reads a log with a property list for each operation.
func readDictionaries(file, src string) (*Plan, error) {
	r := newTreeReader(file, src)
	r.plan.Form = "analytics dictionaries"
	for at := 0; ; {
		open := dictionaryStart.FindStringIndex(src[at:])
		if open == nil {
			break
		}
		end, err := parseTree(&r.tree, at+open[1]-1, listSyntax)
		if err != nil {
			return nil, err
		}
		at = end
		if f := r.fields(0); r.isOperation(&f) {
			if err := r.element(0, "dictionaries", ""); err != nil {
				return nil, err
			}
			continue
		}
		if err := r.walk(0, "", ""); err != nil {
			return nil, err
		}
	}
	return r.plan, r.plan.finish(file)
}

// dictionaryStart is the brace that opens a property list.
var dictionaryStart = regexp.MustCompile(`(?m)\{`)
