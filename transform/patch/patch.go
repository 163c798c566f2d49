package patch

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/ir"
)

// Weight is the new value of a constant of the source.
type Weight struct {
	// Name is the constant's name, preceded by its function and a slash if several
	// functions have a constant of that name.
	Name string
	// Array has the constant's type, fp16, and its shape. Every value of the type is
	// allowed, including infinities and NaNs, as in the compiler.
	Array npy.Array
	// MaxError is the largest difference that a value of a weight in compressed form, which is the result of a
	// constexpr operation, may have from what its codebook or scale can express.
	MaxError float64
}

// Refusal is the reason why a constant cannot be patched.
type Refusal struct {
	Name, Reason, Hint string
	// Model is set if compiling the pair again from its model solves the problem.
	Model bool
}

// compileAgain is the hint of a Refusal with Model set.
const compileAgain = "compile the pair again from its model"

func (e *Refusal) Error() string {
	s := fmt.Sprintf("constant %q cannot be patched: %s", e.Name, e.Reason)
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Change is the result for one weight.
type Change struct {
	Name  string `json:"name"`            // of the constant
	Line  int    `json:"line,omitempty"`  // line of the constant in the source, or 0
	Bytes int    `json:"bytes,omitempty"` // bytes of the container that were written, 0 if all was computed again
	Tasks int    `json:"tasks,omitempty"` // number of tasks that load them
	// Error is how far the values are from the values of a weight that keeps its codebook or scales, nil for other
	// weights.
	Error *Error `json:"error,omitempty"`
}

// Error is how far the values of a weight are from those that its compressed form can express.
type Error struct {
	Largest float64 `json:"largest"` // difference of a value
	Index   int     `json:"index"`   // of that value, row major in the order of the kernel
	// Ratio is the ratio of signal to noise in dB, 0 if there is no noise.
	Ratio float64 `json:"snr_db,omitempty"`
}

// Result is a patched pair.
type Result struct {
	pair.Pair
	DB      *provenance.DB // decoded from Pair.Debug
	Changes []Change       // one per weight, in the order of the arguments
}

// patcher is the state of one call.
type patcher struct {
	db        *provenance.DB
	file      *hwx.File
	container []byte // the new one
	at        []span // the constant sections in the file
	tasks     [][]reader
	weights   []*weight
	writes    map[place]*write
}

// span is one constant section: its bytes among all constants, and in the file.
type span struct{ offset, size, file uint64 }

// place is the bytes of one role in an extent.
type place struct {
	extent int
	role   string
}

// write is the new content of an extent; only the bytes of one role are valid.
type write struct {
	data []byte
	by   *weight
}

// weight is a constant with its place in the database.
type weight struct {
	Weight
	statement int
	from      []bool // by node: whether the constant is part of it
	unpacked  []bool // by node: whether it is what a constexpr operation makes of the constant
	roles     []string
	change    Change
}

// Apply patches a pair. It does not change its arguments. An error is a *Refusal, or
// reports what is wrong with the files.
func Apply(old pair.Pair, db *provenance.DB, ws []Weight) (*Result, error) {
	if sum := sha256.Sum256(old.Container); sum != db.SHA256 {
		return nil, fmt.Errorf("the debug database belongs to the container with SHA-256 %x, this one has %x; compile "+
			"both together", db.SHA256, sum)
	}
	f, err := hwx.Read(old.Container)
	if err != nil {
		return nil, err
	}
	p := &patcher{db: db, file: f, container: bytes.Clone(old.Container), writes: map[place]*write{}}
	if err := p.sections(); err != nil {
		return nil, err
	}
	if p.tasks, err = p.readers(); err != nil {
		return nil, err
	}
	for _, w := range ws {
		x, err := p.find(w)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(p.weights, func(o *weight) bool { return o.statement == x.statement }); i >= 0 {
			return nil, fmt.Errorf("constant %q is set twice, also as %q", w.Name, p.weights[i].Name)
		}
		p.weights = append(p.weights, x)
	}
	for _, w := range p.weights {
		if err := p.pack(w); err != nil {
			return nil, err
		}
	}
	if err := p.shared(); err != nil {
		return nil, err
	}
	p.apply()
	r := &Result{Pair: pair.Pair{Container: p.container}}
	for _, w := range p.weights {
		r.Changes = append(r.Changes, w.change)
	}
	was, sum := hex.EncodeToString(db.SHA256[:]), sha256.Sum256(p.container)
	r.Descriptor = bytes.ReplaceAll(old.Descriptor, []byte(was), []byte(hex.EncodeToString(sum[:])))
	copied := *db
	copied.SHA256 = sum
	r.DB = &copied
	var debug bytes.Buffer
	if err := r.DB.Write(&debug); err != nil {
		return nil, err
	}
	r.Debug = debug.Bytes()
	return r, nil
}

// sections sets p.at to the constant sections in the file.
func (p *patcher) sections() error {
	at := uint64(0)
	for _, s := range p.file.ConstantSections() {
		if s.Size > 0 && (s.Offset == 0 || uint64(s.Offset)+s.Size > uint64(len(p.container))) {
			return fmt.Errorf("section %s of the container is missing from the file", s.Name)
		}
		p.at = append(p.at, span{at, s.Size, uint64(s.Offset)})
		at += s.Size
	}
	if at != p.db.ConstantSize {
		return fmt.Errorf("the container has %d bytes of constants, the debug database %d", at, p.db.ConstantSize)
	}
	return nil
}

// bytes calls f for the parts of the container with the n bytes of constants at off.
func (p *patcher) bytes(off, n uint64, f func(b []byte)) {
	for _, s := range p.at {
		if from, to := max(off, s.offset), min(off+n, s.offset+s.size); from < to {
			f(p.container[s.file+from-s.offset : s.file+to-s.offset])
		}
	}
}

// content copies an extent out of the container.
func (p *patcher) content(x *provenance.Extent) []byte {
	var out []byte
	p.bytes(x.Offset, x.Size, func(b []byte) { out = append(out, b...) })
	return out
}

// unpacks is the prefix of the names of operations that unpack a constant.
const unpacks = "constexpr_"

// find looks a constant up.
func (p *patcher) find(w Weight) (*weight, error) {
	fn, name := "", w.Name
	if i := strings.IndexByte(name, '/'); i >= 0 {
		fn, name = name[:i], name[i+1:]
	}
	found, named := -1, -1
	for i := range p.db.Statements {
		s := &p.db.Statements[i]
		if s.Name != name || fn != "" && s.Func != fn {
			continue
		}
		if named = i; s.Op != "const" {
			continue
		}
		if found >= 0 {
			return nil, fmt.Errorf("functions %s and %s both have a constant %q; give %s/%s or %s/%s",
				p.db.Statements[found].Func, s.Func, name, p.db.Statements[found].Func, name, s.Func, name)
		}
		found = i
	}
	x := &weight{Weight: w, from: make([]bool, len(p.db.Nodes)), roles: []string{roleValues, provenance.RoleBias}}
	switch {
	case found >= 0:
		if op := p.lookup(found); op >= 0 {
			x.unpacked, x.roles = p.results(op), []string{roleCodebook}
		}
	case named >= 0 && strings.HasPrefix(p.db.Statements[named].Op, unpacks):
		found = named
		x.unpacked, x.roles = p.results(named), []string{roleIndices, roleValues}
	case named >= 0:
		return nil, &Refusal{Name: w.Name, Reason: fmt.Sprintf("it is the result of %s, no constant",
			p.db.Statements[named].Op), Hint: "patch the constants that it is made of"}
	default:
		return nil, p.unknown(w.Name, name)
	}
	x.statement = found
	x.change = Change{Name: w.Name, Line: int(p.db.Statements[found].Line)}
	for i, n := range p.db.Nodes {
		x.from[i] = int(n.Statement) == found || slices.ContainsFunc(n.From, func(f provenance.NodeID) bool {
			return x.from[f]
		})
	}
	switch s := &p.db.Statements[found]; {
	case s.Type != "" && s.Type != "fp16":
		return nil, &Refusal{Name: w.Name,
			Reason: fmt.Sprintf("the source declares it %s, only fp16 stands in a pair as it is",
				s.Type), Hint: compileAgain, Model: true}
	case w.Array.Type != "f2":
		return nil, &Refusal{Name: w.Name,
			Reason: fmt.Sprintf("the file holds %s, the engine's constants are f2 (fp16)",
				w.Array.Type), Hint: `convert it with numpy's astype("<f2")`}
	case s.Type != "" && !slices.Equal(s.Shape, w.Array.Shape):
		return nil, &Refusal{Name: w.Name, Reason: fmt.Sprintf("the file's shape is %s, the constant's %s",
			provenance.ShapeString(w.Array.Shape), provenance.ShapeString(s.Shape)),
			Hint: "give an array of the constant's shape"}
	}
	return x, nil
}

// lookup returns the statement that looks weights up in a constant, -1 if there is none.
func (p *patcher) lookup(constant int) int {
	return slices.IndexFunc(p.db.Statements, func(s provenance.Statement) bool {
		return s.Op == unpacks+"lut_to_dense" && slices.Contains(s.Args, int32(constant))
	})
}

// results returns, by node, whether it is what folding made of a constexpr operation and its constants alone.
func (p *patcher) results(op int) []bool {
	out := make([]bool, len(p.db.Nodes))
	own := append([]int32{int32(op)}, p.db.Statements[op].Args...)
	for i, n := range p.db.Nodes {
		own := func(f provenance.NodeID) bool { return slices.Contains(own, p.db.Nodes[f].Statement) }
		out[i] = n.Statement < 0 && len(n.From) > 0 && !slices.ContainsFunc(n.From, func(f provenance.NodeID) bool {
			return !own(f)
		}) && slices.ContainsFunc(n.From, func(f provenance.NodeID) bool { return int(p.db.Nodes[f].Statement) == op })
	}
	return out
}

// shaped reports whether the database contains the constant's shape, which find has then
// compared with the array's. Databases of old revisions do not contain it.
func (p *patcher) shaped(w *weight) bool {
	return w.unpacked != nil || p.db.Statements[w.statement].Type != ""
}

func (w *weight) refuse(format string, args ...any) error {
	return &Refusal{Name: w.Name, Reason: fmt.Sprintf(format, args...), Hint: compileAgain, Model: true}
}

// plain reports whether a node is the unchanged constant of the source, or what it is unpacked to.
func (p *patcher) plain(w *weight, n provenance.NodeID) bool {
	return int(p.db.Nodes[n].Statement) == w.statement || w.unpacked != nil && w.unpacked[n]
}

// shownStatements is the number of statements that a refusal names.
const shownStatements = 4

// folded returns the refusal of a constant that is in the pair as part of another value.
func (p *patcher) folded(w *weight, n provenance.NodeID) error {
	src := p.db.Source(provenance.Ref{Node: n})
	var with []string
	for _, i := range src.Statements {
		if s := &p.db.Statements[i]; i != w.statement {
			with = append(with, fmt.Sprintf("%s %q", s.Op, s.Name))
		}
	}
	if len(with) > shownStatements {
		with = append(with[:shownStatements], fmt.Sprintf("%d more", len(with)-shownStatements))
	}
	by := strings.Join(src.Passes, ", ")
	by = cmp.Or(by, "the lowering")
	s := "it was rewritten by " + by
	if with != nil {
		s += " together with " + strings.Join(with, ", ")
	}
	return w.refuse("%s", s)
}

// shared returns a refusal if bytes to be changed also belong to another constant.
func (p *patcher) shared() error {
	order := slices.SortedFunc(maps.Keys(p.writes), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.extent, b.extent), cmp.Compare(a.role, b.role))
	})
	for _, at := range order {
		wr, x := p.writes[at], &p.db.Extents[at.extent]
		for i := range x.Uses {
			n := node(&x.Uses[i], at.role)
			if !slices.ContainsFunc(p.weights, func(w *weight) bool { return p.plain(w, n) }) {
				no := &Refusal{Name: wr.by.Name,
					Reason: "its bytes are also those of an equal constant of the lowering, which is stored once",
					Hint:   compileAgain, Model: true}
				for _, k := range p.db.Source(provenance.Ref{Node: n}).Statements {
					st := &p.db.Statements[k]
					no.Reason = fmt.Sprintf(
						"its bytes are also those of the equal %s %q of function %s, line %d, which is stored once",
						st.Op, st.Name, st.Func, st.Line)
					no.Hint = fmt.Sprintf("give %s/%s the same values too, or %s", st.Func, st.Name, compileAgain)
				}
				return no
			}
		}
	}
	return nil
}

// apply writes the packed constants and renames the tiles.
func (p *patcher) apply() {
	extents := map[int]bool{}
	for at := range p.writes {
		extents[at.extent] = true
	}
	order := slices.Sorted(maps.Keys(extents))
	names := p.names()
	renamed := map[string]string{}
	for _, i := range order {
		x := &p.db.Extents[i]
		now := p.content(x)
		before := bytes.Clone(now)
		for _, role := range []string{roleValues, provenance.RoleBias, roleIndices, roleCodebook} {
			if wr := p.writes[place{i, role}]; wr != nil {
				runs(x, role, func(from, to uint64) { copy(now[from:to], wr.data[from:to]) })
			}
		}
		at := 0
		p.bytes(x.Offset, x.Size, func(b []byte) { at += copy(b, now[at:]) })
		p.rename(names, renamed, i, before, now)
	}
	// Rename all at once, because the new name of one may be the old name of another.
	var pairs []string
	for _, old := range slices.Sorted(maps.Keys(renamed)) {
		pairs = append(pairs, old+tiles, renamed[old]+tiles)
	}
	if pairs != nil {
		p.container = []byte(strings.NewReplacer(pairs...).Replace(string(p.container)))
	}
}

// tiles separates the name of a constant's tiles from the number of the lane.
const tiles = "_ne_"

// names returns the names of the tiles of constants, without the lane, by the offset of
// the constant.
func (p *patcher) names() map[uint64]string {
	out := map[uint64]string{}
	sections := p.file.ConstantSections()
	for _, s := range p.file.Symbols() {
		name, _, ok := strings.Cut(s.Name, tiles)
		if !ok || s.Desc != hwx.DescLive {
			continue
		}
		for i, c := range sections {
			if s.Value >= c.Addr && s.Value-c.Addr < c.Size {
				at := p.at[i].offset + s.Value - c.Addr
				if out[at] == "" {
					out[at] = name
				}
			}
		}
	}
	return out
}

// rename records the new name of the tiles of a constant, which is named by its digest.
func (p *patcher) rename(names map[uint64]string, renamed map[string]string, extent int, before, now []byte) {
	old := names[p.db.Extents[extent].Offset]
	if old == "" {
		return // sources of tasks have no names
	}
	name := tileNames(before)
	for task := range maxShares {
		if name(task) != old {
			continue
		}
		// Other constants may have the same bytes in other parts. They keep the name, and
		// so does this one, because the names alone do not identify the constant.
		for at, other := range names {
			if other == old && (at < p.db.Extents[extent].Offset || at >= p.db.Extents[extent].Offset+
				p.db.Extents[extent].Size) {
				return
			}
		}
		renamed[old] = tileNames(now)(task)
		return
	}
}

// unknown returns the error for a constant that the source does not have; name is without the function.
func (p *patcher) unknown(full, name string) error {
	var names []string
	for i := range p.db.Statements {
		if s := &p.db.Statements[i]; s.Op == "const" {
			names = append(names, s.Name)
		}
	}
	err := fmt.Errorf("the source of the pair has no constant %q", full)
	if near := ir.NearestOf(name, names); near != "" {
		err = fmt.Errorf("%w; did you mean %q?", err, near)
	}
	return err
}
