package compare

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// inputName is the name of the source in compared pairs, whatever the names of the files.
const inputName = "model.mil"

// Side is one side of a comparison.
type Side struct {
	name     string
	options  *compile.Options // nil of a pair
	model    *frontend.Model  // nil of a pair
	text     *mil.Program     // nil if the model has no text
	consts   []*constant
	named    map[string]*constant // by qualified name; computed on demand
	target   *target.Table
	report   *compile.Report
	placed   []*ir.Func
	files    []string // index of the program's positions
	compiler string   // the compiler, "" for this zinc
	extra    []string // flags for another zinc that this one does not know
	trace    *trace   // nil if it was not recorded
	noTrace  string   // why
	noPair   string   // why there is no pair
	refused  string   // why it does not compile, in one line
	noPlaces string   // why there is no placement
	noPlaced string   // why there is a pair but no program

	pair      pair.Pair
	file      *hwx.File
	program   *e5.Program    // nil of a container alone
	db        *provenance.DB // for alignment; nil unless both sides have one
	told      *provenance.DB // for names; nil if there is none
	memo      map[provenance.NodeID][]string
	values    map[string][]string // qualified names of the text's values, by name; computed on demand
	chains    []chain             // decoded tasks; computed on demand
	decoded   bool
	undecoded error                // why they do not decode
	renamed   map[string]string    // of side A: as in pairing
	sums      map[[2]uint64]string // digests of ranges of the constants, by offset and size
}

// Summary names a side.
type Summary struct {
	Name      string   `json:"name"`                // path of the side
	Target    string   `json:"target,omitempty"`    // target that was compiled for
	Compiler  string   `json:"compiler,omitempty"`  // of a model, where compilers may differ
	Settings  []string `json:"settings,omitempty"`  // of a model: flags that are not the default
	Placement string   `json:"placement,omitempty"` // of a model, in one line
	NoPair    string   `json:"no_pair,omitempty"`   // why the side has no pair
}

// OpenPair returns the side of a pair, or of a container alone, with the container's debug database or nil. The bytes
// must stay unchanged while the Side is used. Errors come from hwx.Read and e5.Read, or say that the database is of
// another container.
func OpenPair(name string, p pair.Pair, db *provenance.DB) (*Side, error) {
	s := &Side{name: name, db: db, told: db}
	if db != nil && !of(db, p.Container) {
		return nil, errors.New(name + ": the debug database belongs to another container; compile both together")
	}
	if err := s.load(p); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// of reports whether a debug database belongs to a container.
func of(db *provenance.DB, container []byte) bool { return db.SHA256 == sha256.Sum256(container) }

// load reads a pair. On an error it does not change the side.
func (s *Side) load(p pair.Pair) error {
	file, err := hwx.Read(p.Container)
	if err != nil {
		return err
	}
	var program *e5.Program
	if !p.Alone() {
		if program, err = e5.Read(p.Descriptor); err != nil {
			return fmt.Errorf("its descriptor: %w", err)
		}
	}
	s.pair, s.file, s.program = p, file, program
	s.memo = map[provenance.NodeID][]string{}
	for _, t := range target.All {
		if s.target == nil && t.Subtype == file.Header.CPUSubtype {
			s.target = t
		}
	}
	return nil
}

// Report returns the report of a model's compilation, nil if it does not compile, with the reason.
func (s *Side) Report() (r *compile.Report, refused string) { return s.report, s.refused }

// Close closes the model's files.
func (s *Side) Close() error {
	if s.model == nil {
		return nil
	}
	return s.model.Close()
}

func (s *Side) summary() Summary {
	x := Summary{Name: s.name, Compiler: s.compiler}
	if s.noPair != notBuilt { // which is not about the model
		x.NoPair = s.noPair
	}
	if s.target != nil {
		x.Target = s.target.Name
	}
	if s.options != nil {
		for _, a := range s.settings() {
			if a.name != "target" && a.name != compilerVersion && a.value != "" {
				x.Settings = append(x.Settings, a.name+"="+a.value)
			}
		}
	}
	if s.report != nil {
		x.Placement = s.report.Line()
	}
	return x
}

// compilerVersion is the setting with the version of the zinc that compiled a side.
const compilerVersion = "compiler version"

// settings lists the settings that can change a pair, by the names of the flags; a default is "".
func (s *Side) settings() []attribute {
	flags, shapes := chosen(s.options)
	return slices.Concat([]attribute{{compilerVersion, s.compiler}, {"target", s.options.Target.Name}}, flags,
		[]attribute{{"shape", strings.Join(shapes, ",")}, {"other flags", strings.Join(s.extra, " ")}})
}

// chosen lists the flags that determine the bytes of a pair, except the target; a default is "". The shapes are in the
// order of the inputs' names.
func chosen(o *compile.Options) (flags []attribute, shapes []string) {
	precision, place, split, form, symbols := "", "", "", "", ""
	if o.Place != passes.PlaceAuto { // the default of the flag
		place = o.Place
	}
	if o.Precision != passes.PrecisionDeclared {
		precision = o.Precision
	}
	if !o.SplitKernel {
		split = "false"
	}
	if o.FullTD {
		form = "full"
	}
	if o.OperationSymbols {
		symbols = "true"
	}
	for _, set := range o.Shapes {
		for _, n := range slices.Sorted(maps.Keys(set)) {
			d := make([]string, len(set[n]))
			for i, x := range set[n] {
				d[i] = strconv.FormatInt(x, 10)
			}
			shapes = append(shapes, n+"="+strings.Join(d, "x"))
		}
	}
	return []attribute{{"precision", precision}, {"place", place}, {"split-kernel-section", split}, {"td-form", form},
			{"operation-symbols", symbols}, {"func", o.Func}},
		shapes
}

// Flags returns options as command-line flags of another executable, except the target. Defaults are omitted, so that
// an executable without the flag also runs.
func Flags(o *compile.Options) (out []string) {
	flags, shapes := chosen(o)
	for _, f := range flags {
		if f.value != "" {
			out = append(out, "--"+f.name+"="+f.value)
		}
	}
	if o.Workers != 0 {
		out = append(out, "--workers="+strconv.Itoa(o.Workers))
	}
	for _, x := range shapes {
		out = append(out, "--shape="+x)
	}
	return out
}

func (p *pairing) settings() (out []*Change, err error) {
	a, b := p.a.settings(), p.b.settings()
	for i, x := range a {
		if y := b[i]; x.value != y.value {
			c := newChange(Settings, Changed, x.name, []string{setting(x.name)}, shown(x.value)+" -> "+shown(y.value))
			c.cause = true
			out = append(out, c)
		}
	}
	return out, nil
}

// setting is the name in an effect of the setting that caused it.
func setting(name string) string { return "\x00" + name }

func shown(s string) string { return cmp.Or(s, "default") }

// compiledAlready is the reason why a pair is not compared at the levels of a model.
const compiledAlready = "both sides must be models"

func nothing(*Side) string { return "" }

func needsModel(s *Side) string {
	if s.model == nil {
		return compiledAlready
	}
	return ""
}

func needsText(s *Side) string {
	switch {
	case s.model == nil:
		return compiledAlready
	case s.text == nil:
		return "a network description has no MIL text"
	}
	return ""
}

func needsPlaced(s *Side) string {
	switch {
	case s.model == nil:
		return compiledAlready
	case s.placed == nil && s.noPlaced != "":
		return s.noPlaced
	case s.placed == nil:
		return s.noPair
	}
	return ""
}

func needsTrace(s *Side) string {
	switch {
	case s.model == nil:
		return compiledAlready
	case s.trace == nil && s.noTrace != "":
		return s.noTrace
	case s.trace == nil:
		return "its programs after the passes were not kept"
	}
	return ""
}

func needsTarget(s *Side) string {
	if s.target == nil {
		return fmt.Sprintf("CPU subtype %d does not belong to a known target", s.file.Header.CPUSubtype)
	}
	return ""
}

func needsReport(s *Side) string {
	switch {
	case s.model == nil:
		return compiledAlready
	case s.report == nil:
		return s.noPlaces
	}
	return ""
}

func needsPair(s *Side) string {
	if s.file == nil {
		return s.noPair
	}
	return ""
}

func needsChain(s *Side) string {
	switch {
	case s.file == nil:
		return s.noPair
	case s.program == nil:
		return "the container has no descriptor"
	}
	return ""
}
