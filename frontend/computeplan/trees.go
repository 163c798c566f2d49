package computeplan

import (
	"strconv"
	"strings"
)

// A treeReader collects the operations of a document.
type treeReader struct {
	tree
	plan *Plan
	line lineCounter

	root    map[string]bool // keys of the root, in the letters of foldKey
	kept    map[string]int  // operations by the key of their list
	summary summaryReader

	fallbacks string // number of operations off the engine
}

// lineCounter counts the lines of offsets that grow.
type lineCounter struct {
	src      string
	at, line int
}

// lineAt returns the line of an offset.
func (l *lineCounter) lineAt(at int) int {
	if at < l.at {
		l.at, l.line = 0, 0
	}
	l.line += strings.Count(l.src[l.at:at], "\n")
	l.at = at
	return l.line + 1
}

func newTreeReader(file, src string) *treeReader {
	return &treeReader{
		tree: tree{file: file, src: src},
		plan: &Plan{},
		line: lineCounter{src: src},
		root: map[string]bool{},
		kept: map[string]int{},
	}
}

// walk collects the operations in a value. key is the key of the list that the value is in.
func (r *treeReader) walk(n int32, key, function string) error {
	if r.nodes[n].kind == array {
		for c := range r.children(n) {
			if err := r.element(c, key, function); err != nil {
				return err
			}
		}
		return nil
	}
	if r.nodes[n].kind != object {
		return nil
	}
	for c := range r.children(n) {
		k := foldKey(r.key(c))
		if r.nodes[c].kind == object && (key == "functions" || r.hasBlock(c)) {
			function = r.key(c)
		}
		if err := r.header(k, c); err != nil {
			return err
		}
		if err := r.walk(c, k, function); err != nil {
			return err
		}
	}
	return nil
}

// hasBlock reports whether an object is a function: it has a block.
func (r *treeReader) hasBlock(n int32) bool {
	for c := range r.children(n) {
		if r.nodes[c].kind == object && foldKey(r.key(c)) == "block" {
			return true
		}
	}
	return false
}

// element collects an element of a list: an operation with the operations in its blocks, or something that has some.
func (r *treeReader) element(n int32, key, function string) error {
	if r.nodes[n].kind != object {
		return r.walk(n, key, function)
	}
	f := r.fields(n)
	if !r.isOperation(&f) {
		if f[fieldBlocks] >= 0 && f[fieldOutputs] >= 0 { // a function in a list
			if name, ok := r.text(f[fieldOutputs]); ok {
				function = name
			}
		}
		return r.walk(n, key, function)
	}
	if len(r.plan.Operations) >= MaxOperations {
		return r.errorAt(int(r.nodes[n].start), tooMany, "", "")
	}
	o, err := r.operation(n, f, function)
	if err != nil {
		return err
	}
	r.plan.Operations = append(r.plan.Operations, o)
	r.kept[key]++
	if f[fieldBlocks] >= 0 {
		return r.walk(f[fieldBlocks], key, o.Function)
	}
	return nil
}

// header reads what a document says about the load.
func (r *treeReader) header(key string, n int32) error {
	if r.nodes[n].kind < quote {
		return r.summary.read(r, key, n)
	}
	s, ok := r.text(n)
	if !ok || s == "" {
		return nil
	}
	switch key {
	case "computeunit", "computeunits", "computeunitsrequested", "configuration", "units":
		if u := parseUnits(s); u != "" {
			r.plan.Units = u
		}
	case "fallbackoperationcount":
		r.fallbacks = s
	case "modelname", "chip":
		r.plan.Machine = s
	case "osnameandversionwithoutbuildnumber", "osversion", "system", "systemversion":
		r.plan.System = s
	}
	return nil
}

// jsonForms are the names of JSON documents, by a key of the root or of the list of operations.
var jsonForms = []struct{ key, form string }{
	{"deviceresults", "Xcode performance report"},
	{"infos", "coremltools plan of a connected device"},
	{"traceevents", "trace of a plan"},
	{"programoperationplans", "coreml-rs plan"},
	{"fallbacksamples", "list of fallbacks"},
	{"peroptype", "summary by kind"},
	{"opsbydevice", "summary by device"},
}

// readJSON reads a document, or several one after another, as lines of JSON are. Text between lines is a log's.
func readJSON(file, src string) (*Plan, error) {
	r := newTreeReader(file, src)
	docs := 0
	for at := 0; ; docs++ {
		at = nextValue(src, at)
		if at == len(src) {
			break
		}
		end, err := parseTree(&r.tree, at, jsonSyntax)
		if err != nil {
			return nil, err
		}
		at = end
		if err := r.document(); err != nil {
			return nil, err
		}
	}
	return r.done(docs)
}

// nextValue returns the offset of the next document: at the beginning of a line, or an object after a log's prefix.
func nextValue(src string, at int) int {
	for {
		for at < len(src) && strings.IndexByte(" \t\r\n", src[at]) >= 0 {
			at++
		}
		if at == len(src) || isJSON.MatchString(src[at:]) {
			return at
		}
		end := len(src)
		if i := strings.IndexByte(src[at:], '\n'); i >= 0 {
			end = at + i
		}
		if m := jsonInLine.FindStringIndex(src[at:end]); m != nil {
			return at + m[0]
		}
		at = end
	}
}

// document collects the operations of the parsed value.
func (r *treeReader) document() error {
	if r.nodes[0].kind == array {
		return r.walk(0, "", "")
	}
	for c := range r.children(0) {
		r.root[foldKey(r.key(c))] = true
	}
	if f := r.fields(0); r.isOperation(&f) && f[fieldBlocks] < 0 {
		return r.element(0, "lines", "")
	}
	return r.walk(0, "", "")
}

// done returns the plan of the documents.
func (r *treeReader) done(docs int) (*Plan, error) {
	p := r.plan
	p.Form = "JSON list of operations"
	if docs > 1 || r.kept["lines"] > 0 {
		p.Form = "JSON lines"
	}
	for _, f := range jsonForms {
		if r.root[f.key] || r.kept[f.key] > 0 {
			p.Form = f.form
			break
		}
	}
	if len(p.Operations) == 0 && r.summary.found {
		p.Summary = &r.summary.Summary
		return p, nil
	}
	if len(p.Operations) == 0 && r.nodes[0].kind == object && !r.root["operations"] {
		return nil, unknown(r.file)
	}
	p.Partial = r.kept["fallbacksamples"] == len(p.Operations) && len(p.Operations) > 0
	err := p.finish(r.file)
	p.Rest = p.Partial && r.fallbacks == strconv.Itoa(len(p.Operations))
	return p, err
}
