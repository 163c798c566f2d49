package compare

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/provenance"
	"github.com/zinc-compiler/zinc/target"
	"github.com/zinc-compiler/zinc/verify"
)

// inputName stands for the source in the pairs that are compared, whatever the
// files are called.
const inputName = "model.mil"

// Side is one of the two things that are compared.
type Side struct {
	name     string
	options  *compile.Options // nil of a pair
	model    *frontend.Model  // nil of a pair
	text     *mil.Program     // nil where the model has no text
	consts   []*constant
	named    map[string]*constant // by qualified name, once asked for
	target   *target.Table
	report   *compile.Report
	placed   []*ir.Func
	files    []string // that positions of the program count into
	noPair   string   // why there is no pair
	noPlaces string   // why there are no places

	container  []byte
	descriptor []byte
	file       *hwx.File
	program    *e5.Program // nil of a container alone
	db         *provenance.DB
	memo       map[provenance.NodeID][]string
	chains     []chain // decoded tasks, once asked for
	decoded    bool
	renamed    map[string]string    // of side A: as pairing has it
	sums       map[[2]uint64]string // digests of stretches of the constants, by offset and size
}

// Summary names a side.
type Summary struct {
	Name      string   `json:"name"`
	Target    string   `json:"target,omitempty"`
	Settings  []string `json:"settings,omitempty"`  // of a model: flags that are not the default
	Placement string   `json:"placement,omitempty"` // of a model, in one line
	NoPair    string   `json:"no_pair,omitempty"`
}

// OpenModel opens a model and compiles it. Where the target has no programs the
// operations are placed and no more, which the Result says. A model that does not
// compile is compared as far as its text and constants go. Errors are frontend.Open's,
// and context.Canceled.
func OpenModel(ctx context.Context, path string, f frontend.Options, o compile.Options) (*Side, error) {
	m, err := frontend.Open(path, f)
	if err != nil {
		return nil, err
	}
	s := &Side{name: path, model: m, target: o.Target, files: m.Program.Files}
	if m.Source != nil {
		if p, list := mil.ParseString(m.Source.Name, m.Source.Src); list.Err() == nil {
			s.text = p
		}
	}
	s.consts = gather(m.Program)
	o.Provenance, o.InputName = true, inputName
	s.options = &o
	if err := s.compile(ctx, m.Program, o); err != nil {
		m.Close()
		return nil, err
	}
	return s, nil
}

// compile fills what follows from the program. A refusal is kept, not returned.
func (s *Side) compile(ctx context.Context, p *ir.Program, o compile.Options) error {
	var err error
	if o.Target.TD == 0 {
		s.noPair = "zinc writes no programs for target " + o.Target.Name
		if s.report, err = compile.Plan(ctx, p, o); err != nil {
			s.noPlaces = err.Error()
		}
		return ctx.Err()
	}
	r, err := compile.Compile(ctx, p, o)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.noPair = "it does not compile: " + err.Error()
		s.noPlaces = s.noPair
		return nil
	}
	s.report, s.db = r.Report, r.Provenance
	for _, f := range r.Functions {
		s.placed = append(s.placed, f.Placed)
	}
	c, d, err := verify.Pair(r)
	if err != nil {
		return &verify.FaultError{Stage: "writing the pair", Err: err}
	}
	if err := s.load(c, d); err != nil {
		return &verify.FaultError{Stage: "reading the pair that was written", Err: err}
	}
	return nil
}

// OpenPair takes the bytes of a container and of the descriptor beside it, nil for
// none, and the debug database of the container, nil for none; the slices must stay
// unchanged while the Side is used. Errors are those of hwx.Read and e5.Read, and a
// database of another container.
func OpenPair(name string, container, descriptor []byte, db *provenance.DB) (*Side, error) {
	s := &Side{name: name, db: db}
	if db != nil && db.SHA256 != sha256.Sum256(container) {
		return nil, errors.New(name + ": the debug database is of another container; compile both together")
	}
	if err := s.load(container, descriptor); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

func (s *Side) load(container, descriptor []byte) (err error) {
	s.container, s.descriptor, s.memo = container, descriptor, map[provenance.NodeID][]string{}
	if s.file, err = hwx.Read(container); err != nil {
		return err
	}
	for _, t := range target.All {
		if s.target == nil && t.Subtype == s.file.Header.CPUSubtype {
			s.target = t
		}
	}
	if descriptor != nil {
		s.program, err = e5.Read(descriptor)
	}
	return err
}

// Close gives up the model's files.
func (s *Side) Close() error {
	if s.model == nil {
		return nil
	}
	return s.model.Close()
}

func (s *Side) summary() Summary {
	x := Summary{Name: s.name, NoPair: s.noPair}
	if s.target != nil {
		x.Target = s.target.Name
	}
	if s.options != nil {
		for _, a := range settingsOf(s.options) {
			if a.name != "target" && a.value != "" {
				x.Settings = append(x.Settings, a.name+"="+a.value)
			}
		}
	}
	if s.report != nil {
		x.Placement = s.report.Line()
	}
	return x
}

// settingsOf lists what can change a pair, by the names of the flags; a default is
// "".
func settingsOf(o *compile.Options) []attribute {
	var shapes []string
	for _, n := range slices.Sorted(maps.Keys(o.Shapes)) {
		d := make([]string, len(o.Shapes[n]))
		for i, x := range o.Shapes[n] {
			d[i] = strconv.FormatInt(x, 10)
		}
		shapes = append(shapes, n+"="+strings.Join(d, "x"))
	}
	precision, split, form := "", "", ""
	if o.Precision != "declared" {
		precision = o.Precision
	}
	if !o.SplitKernel {
		split = "false"
	}
	if o.FullTD {
		form = "full"
	}
	return []attribute{
		{"target", o.Target.Name}, {"precision", precision}, {"split-kernel-section", split},
		{"td-form", form}, {"func", o.Func}, {"shape", strings.Join(shapes, ",")},
	}
}

func (p *pairing) settings() (out []*Change, err error) {
	a, b := settingsOf(p.a.options), settingsOf(p.b.options)
	for i, x := range a {
		if y := b[i]; x.value != y.value {
			out = append(out, &Change{Level: Settings, Kind: Changed, Subject: x.name, Details: []string{shown(x.value) + " -> " + shown(y.value)}, cause: true, names: []string{setting(x.name)}})
		}
	}
	return out, nil
}

// setting is the name by which an effect says that it came from a setting.
func setting(name string) string { return "\x00" + name }

func shown(s string) string {
	if s == "" {
		return "default"
	}
	return s
}

// compiledAlready is why a pair is not compared at the levels of a model.
const compiledAlready = "it takes two models"

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
	case s.placed == nil:
		return s.noPair
	}
	return ""
}

func needsTarget(s *Side) string {
	if s.target == nil {
		return fmt.Sprintf("CPU subtype %d is no target's", s.file.Header.CPUSubtype)
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
		return "there is no descriptor beside the container"
	}
	return ""
}
