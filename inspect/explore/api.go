package explore

import (
	"net/http"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/inspect/compare"
	"github.com/zinc-compiler/zinc/lower/td"
)

// Rows of a list that one answer holds at most.
const (
	maxLines = 20_000
	maxTasks = 5_000
	maxLinks = 4_096
)

// targetInfo is a target that can be chosen.
type targetInfo struct {
	Name string `json:"name"`
	// Compiled says that programs are written for it; for the others operations are
	// placed and nothing else.
	Compiled bool `json:"compiled"`
}

// levelInfo is a level at which two compilations are compared.
type levelInfo struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

// modelList is the answer to GET /api/models.
type modelList struct {
	Version   string              `json:"version"`
	Versions  []versionInfo       `json:"versions"` // the one that runs first
	Models    []*model            `json:"models"`
	Targets   []targetInfo        `json:"targets"`
	Choices   map[string][]string `json:"choices"`
	BodyBytes int64               `json:"body_limit_bytes"`
	Seconds   float64             `json:"time_limit_seconds"`
	Levels    []levelInfo         `json:"diff_levels"`
}

func (s *Server) listModels(*http.Request) (any, error) {
	out := &modelList{
		Version:   compile.Version,
		Versions:  s.listVersions(),
		Models:    s.models,
		Choices:   map[string][]string{},
		BodyBytes: s.limits.Body,
		Seconds:   s.limits.Time.Seconds(),
	}
	for _, n := range targetNames() {
		c := Config{Target: n}
		out.Targets = append(out.Targets, targetInfo{n, c.compiled()})
	}
	for _, c := range choices {
		out.Choices[c.name] = c.words
	}
	for _, l := range compare.Levels {
		out.Levels = append(out.Levels, levelInfo{string(l.Level), l.Doc})
	}
	return out, nil
}

// sourceText is the answer to GET /api/source.
type sourceText struct {
	Model  string `json:"model"`
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	Text   string `json:"text"`
}

func (s *Server) source(r *http.Request) (any, error) {
	m, err := s.model(r.URL.Query().Get("model"))
	if err != nil {
		return nil, err
	}
	return &sourceText{Model: m.Name, File: m.file, SHA256: m.SHA256, Text: m.text}, nil
}

// fieldInfo is a row of the field table of tasks.
type fieldInfo struct {
	Name  string `json:"name"`
	Block string `json:"block"`
	Addr  uint32 `json:"address"`
	Bit   uint8  `json:"bit"`
	Width uint8  `json:"width"`
	Unit  uint32 `json:"unit"`
	Kind  string `json:"kind"` // unsigned, fp16, fp32, address, size, chain
	// Values are those with a word, of an enumeration.
	Values []valueInfo `json:"values,omitempty"`
	Array  string      `json:"array,omitempty"` // name of the indexed field that the row is an element of
	Known  string      `json:"known"`
	Doc    string      `json:"doc"`
}

// valueInfo is a value of a field with its word.
type valueInfo struct {
	Value uint32 `json:"value"`
	Word  string `json:"word"`
}

func (s *Server) fieldList(*http.Request) (any, error) {
	table := td.Fields()
	out := make([]fieldInfo, len(table))
	for i := range table {
		r, at := &table[i], table[i].Home()
		out[i] = fieldInfo{
			Name:  r.Name,
			Block: at.Block.Name,
			Addr:  at.Addr(),
			Bit:   at.Bit,
			Width: at.Width,
			Unit:  r.Unit,
			Kind:  r.Kind.String(),
			Array: r.Array.Name,
			Known: r.Known.String(),
			Doc:   r.Doc,
		}
		for _, x := range r.Values {
			out[i].Values = append(out[i].Values, valueInfo{x.V, x.String()})
		}
	}
	return out, nil
}

// configuration returns the configuration that a request has as its body, and its model.
func (s *Server) configuration(r *http.Request) (*model, *Config, error) {
	var c Config
	if err := body(r, &c); err != nil {
		return nil, nil, err
	}
	m, err := s.model(c.Model)
	return m, &c, err
}

func (s *Server) compileRequest(r *http.Request) (any, error) {
	m, c, err := s.configuration(r)
	if err != nil {
		return nil, err
	}
	v, release, err := s.compile(r.Context(), m, c)
	if err != nil {
		return nil, err
	}
	defer release()
	return v.summary()
}

func statementList(_ *Server, v *view, r *http.Request) (any, error) {
	return page(r, v.statements, maxLines)
}

// irList answers with the lines after a pass: pass is an index into the passes of
// the summary, by default the last.
func irList(_ *Server, v *view, r *http.Request) (any, error) {
	if len(v.passes) == 0 {
		return &paged[irLine]{Rows: []irLine{}}, nil
	}
	last := int64(len(v.passes) - 1)
	i, err := number(r, "pass", 0, last, last)
	if err != nil {
		return nil, err
	}
	return page(r, v.passes[i].lines, maxLines)
}

func taskList(_ *Server, v *view, r *http.Request) (any, error) {
	return page(r, v.tasks, maxTasks)
}

func oneTask(_ *Server, v *view, r *http.Request) (any, error) {
	i, err := number(r, "task", 0, int64(len(v.tasks))-1, -1)
	if err != nil {
		return nil, err
	}
	return v.task(int(i))
}

func containerView(_ *Server, v *view, _ *http.Request) (any, error) { return v.container, nil }

// chainAnswer is the answer to a request for the chain.
type chainAnswer struct {
	Bytes     int64       `json:"bytes"`
	Functions []chainFunc `json:"functions"`
	// Sources is one a operation, in the order of the functions: what it came from.
	Sources []provenance.SourceView `json:"sources"`
}

func chainView(_ *Server, v *view, _ *http.Request) (any, error) {
	out := &chainAnswer{Bytes: v.files.descriptor.size, Functions: v.chain, Sources: []provenance.SourceView{}}
	for _, i := range v.databaseOp {
		src := provenance.SourceView{Source: provenance.Source{Statements: []int{}}}
		if i >= 0 {
			src = v.db.SourceView(v.db.Operations[i].Ref())
		}
		out.Sources = append(out.Sources, src)
	}
	return out, nil
}

func reportView(_ *Server, v *view, _ *http.Request) (any, error) {
	if v.report == nil {
		return nil, &requestError{http.StatusConflict, errFailed}
	}
	return v.report, nil
}
