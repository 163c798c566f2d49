package explore

import (
	"slices"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
)

// view is one compilation. It is immutable once it is built.
type view struct {
	key    string
	model  *model
	config Config

	// list has the diagnostics of the text; failure is any other error that stopped the compilation. A view with either
	// has only the passes that ran.
	list    *diag.List
	failure string
	// foreign are the diagnostics of another zinc.
	foreign []place
	// unlinked is set if another zinc wrote no readable debug database, so that only names link items (linkByNames).
	unlinked bool
	// assumed are the weight files that are missing.
	assumed []string
	// placed is set if operations were only placed, because zinc writes no programs for the target.
	placed bool

	statements []statement
	passes     []*snapshot
	report     *compile.Report
	coreml     *report.CoreML // where Core ML itself would run the model; nil if that was not forecast
	db         *provenance.DB // nil if nothing was lowered
	tasks      []taskRow
	codec      *td.Codec // of the tasks; nil for a generation whose tasks are not known
	text       []byte    // the task section
	container  *containerMap
	chain      []chainFunc
	// databaseOp maps each operation of the chain to its index in the database, and chainOp is the inverse; -1 for
	// none.
	databaseOp, chainOp []int
	files               *pairFiles
	size                int64 // approximate memory in bytes
}

// statement is a statement of the source, comparable so that it can be found among others.
type statement struct {
	Line int32  `json:"line"` // from 1; 0 where the source has no lines
	Col  int32  `json:"column"`
	Func string `json:"function"`
	Op   string `json:"op"` // operation, or "const", "input", "func"
	Name string `json:"name"`
}

func newStatement(fn, op, name string, at ir.Pos) statement {
	return statement{Line: max(at.Line, 0), Col: max(at.Col, 0), Func: fn, Op: op, Name: name}
}

// summary is the answer to a request to compile.
type summary struct {
	Key         string         `json:"key"`
	Target      string         `json:"target"`
	OK          bool           `json:"ok"`
	Error       string         `json:"error,omitempty"` // of a failed compilation, as one text
	Diagnostics *diag.Document `json:"diagnostics,omitempty"`
	// Places are the diagnostics by their lines, with the text form of each.
	Places []place `json:"places,omitempty"`
	Placed bool    `json:"placed_only"`
	// Unlinked is set if another version wrote no readable debug database, so that only the names in its report link
	// tasks with statements.
	Unlinked bool   `json:"unlinked,omitempty"`
	Line     string `json:"line,omitempty"` // the placement in one line
	// CoreML is where Core ML itself is forecast to run the model, CoreMLLine says so in one line.
	CoreML     *report.CoreML `json:"coreml,omitempty"`
	CoreMLLine string         `json:"coreml_line,omitempty"`
	// Assumed are the weight files that are missing, with what needs them: their values are assumed.
	Assumed    []string    `json:"assumed_weights,omitempty"`
	Statements int         `json:"statements"`
	Passes     []*snapshot `json:"passes"`
	Tasks      int         `json:"tasks"`
	TextBytes  int         `json:"text_bytes"`
	Constants  uint64      `json:"constant_bytes"`
	Container  int64       `json:"container_bytes"`
	Descriptor int64       `json:"descriptor_bytes"`
	EngineOps  int         `json:"engine_ops"`
	CPUOps     int         `json:"cpu_ops"`
	Dispatches int         `json:"dispatches"`
	Functions  []string    `json:"functions"`
}

// place is a diagnostic with its text.
type place struct {
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"`
	Code     string `json:"code,omitempty"`
	Text     string `json:"text"` // headline, source line, caret, notes, hint
}

func (v *view) summary() (*summary, error) {
	s := &summary{
		Key: v.key, Target: v.config.Target, OK: v.report != nil, Error: v.failure, Placed: v.placed,
		Statements: len(v.statements),
		Passes:     v.passes, Tasks: len(v.tasks), TextBytes: len(v.text), Functions: []string{},
	}
	if s.Passes == nil {
		s.Passes = []*snapshot{}
	}
	s.Places, s.Unlinked, s.Assumed = v.foreign, v.unlinked, v.assumed
	if v.list != nil {
		s.Diagnostics = v.list.Document()
		s.Places = places(v.list)
		if v.list.HasErrors() {
			s.Error = errorCount(v.list.Errors())
		}
	}
	if v.files != nil {
		s.Container, s.Descriptor = v.files.container.size, v.files.descriptor.size
		s.Constants = v.db.ConstantSize
	}
	if v.report == nil {
		return s, nil
	}
	s.Line, s.EngineOps, s.CPUOps, s.Dispatches = v.report.Line(), v.report.EngineOps, v.report.CPUOps,
		v.report.Dispatches
	if s.CoreML = v.coreml; s.CoreML != nil {
		s.CoreMLLine = s.CoreML.String()
	}
	for _, p := range v.passes {
		if !slices.Contains(s.Functions, p.Func) {
			s.Functions = append(s.Functions, p.Func)
		}
	}
	return s, nil
}

// maxPlaces is the maximum number of diagnostics in a summary.
const maxPlaces = 200

// weight returns the approximate memory of the view in bytes.
func (v *view) weight() int64 { return v.size }

// close removes the temporary files.
func (v *view) close() error {
	if v.files == nil {
		return nil
	}
	return v.files.close()
}

// listStatements lists the statements of the debug database.
func (v *view) listStatements() {
	for i := range v.db.Statements {
		s := &v.db.Statements[i]
		v.statements = append(v.statements, statement{Line: s.Line, Col: s.Col, Func: s.Func, Op: s.Op, Name: s.Name})
	}
}

// number numbers the statements in the lines of the passes as in the database,
// or as in the observer's list without one.
func (v *view) number(o *observer) {
	to := make([]int32, len(o.stmts))
	if v.db != nil {
		v.listStatements()
		index := map[statement]int32{}
		for i, s := range v.statements {
			index[s] = int32(i)
		}
		for i, s := range o.stmts {
			n, ok := index[newStatement(s.Func, s.Op, s.Name, s.Pos)]
			if !ok {
				n = -1
			}
			to[i] = n
		}
	} else {
		for i, s := range o.stmts {
			to[i] = int32(i)
			v.statements = append(v.statements, newStatement(s.Func, s.Op, s.Name, s.Pos))
		}
	}
	// Lines share their lists of statements, and snapshots their lines.
	done := map[*int32]bool{}
	for _, s := range o.shots {
		if !s.Changed {
			continue
		}
		for i := range s.lines {
			l := &s.lines[i]
			if len(l.Statements) == 0 || done[&l.Statements[0]] {
				continue
			}
			done[&l.Statements[0]] = true
			for k, n := range l.Statements {
				l.Statements[k] = to[n]
			}
		}
	}
	v.passes = o.shots
}
