package build

import (
	"strconv"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
)

// Codes of the rules, in diag.Diagnostic.Code.
const (
	codeOp    = "mil-op"    // unknown operation, or one that this operation set lacks
	codeArg   = "mil-arg"   // an argument that is unknown, missing, duplicate or of the wrong form
	codeName  = "mil-name"  // a name that is unknown or defined twice
	codeType  = "mil-type"  // types or shapes that disagree
	codeConst = "mil-const" // a constant whose value does not match its type
	codeBlob  = "mil-blob"  // a weight file that does not match the text
	codeFlex  = "mil-flex"  // shape information that does not match the inputs

	// CodeUnread is a weight file that cannot be read, where another folder for the weights may help.
	CodeUnread = "mil-unread"
)

// Options configure Program.
type Options struct {
	// Partial means that statements are missing from the tree because they could not be parsed: an undefined name is
	// then not an error.
	Partial bool
	// Assume gives constants in weight files that are missing assumed values. Otherwise each such file is an error.
	Assume bool
	// Keep leaves the statements in the tree. Otherwise their memory is given up as the program grows.
	Keep bool
	// Classes keeps classify where its results are outputs.
	Classes bool
	// Missing, if not nil, receives the weight files whose values were assumed.
	Missing *[]*Missing
}

// Program builds the program of the syntax tree file. blobs are the weight files and must stay open as long as the
// program is in use. With nil, every reference to a weight file is an error.
//
// The list has errors and warnings in the order of the text. The program is nil if there is an error.
func Program(file *mil.Program, blobs *blobfile.Set, opts Options) (*ir.Program, *diag.List) {
	b := &builder{src: file, blobs: blobs, opts: opts, list: &diag.List{}, lost: map[string]*Missing{},
		supplied: map[string][]byte{}}
	out := &ir.Program{Version: file.Version, BuildInfo: buildInfo(file)}
	if file.File != nil {
		out.Files = []string{file.File.Name}
	}
	seen := make(map[string]diag.Pos, len(file.Funcs))
	for _, f := range file.Funcs {
		if first, twice := seen[f.Name]; twice {
			b.list.Errorf(file.NameSpan(f.NamePos, f.Name), codeName, "", "function %s is defined twice", f.Name).
				Note(file.NameSpan(first, f.Name), "%s is first defined", f.Name)
		} else {
			seen[f.Name] = f.NamePos
		}
		out.Funcs = append(out.Funcs, b.function(f))
	}
	b.countUnread()
	b.assumeMasks(out)
	b.list.Sort()
	if opts.Missing != nil {
		*opts.Missing = b.absent
	}
	if b.list.HasErrors() {
		return nil, b.list
	}
	return out, b.list
}

// buildInfo reads the program's dictionary of strings; entries of another form do not concern the program and are
// skipped.
func buildInfo(file *mil.Program) []ir.KeyValue {
	a := mil.FindArg(file.Attrs, "buildInfo")
	if a == nil {
		return nil
	}
	d, ok := a.Value.(*mil.Dict)
	if !ok {
		return nil
	}
	var out []ir.KeyValue
	for _, e := range d.Entries {
		k, okKey := mil.TextOf(e.Key)
		v, okValue := mil.TextOf(e.Value)
		if okKey && okValue {
			out = append(out, ir.KeyValue{Key: k, Value: v})
		}
	}
	return out
}

// A symbol is the meaning of a name.
type symbol struct {
	value *ir.Value
	name  string // as in the text
	pos   diag.Pos
	// broken means that an error was reported and that value is incomplete: it lacks its constant, or is nil.
	broken bool
}

// builder has what the functions of one text share, and the scope of the current one.
type builder struct {
	src   *mil.Program
	blobs *blobfile.Set
	opts  Options
	list  *diag.List

	lost    map[string]*Missing // by file
	absent  []*Missing          // in the order of the text
	assumed assumptions
	// supplied are assumed values by the place and the type of the constant.
	supplied map[string][]byte

	fn    *mil.Func
	scope map[string]*symbol   // names in scope
	names map[string]*ir.Value // names of values of the function; with the value if the name is not from the text
	next  map[string]int       // last number appended to a name
	log   []string             // names in the order in which they came into scope
	hints int                  // unknown names for which a similar one was looked for

	unread map[string]*unread // weight files that cannot be opened, by path in the model's folder
}

func (b *builder) pos(p diag.Pos) ir.Pos {
	at := b.src.File.Position(p)
	return ir.Pos{Line: int32(at.Line), Col: int32(at.Column)}
}

func (b *builder) function(f *mil.Func) *ir.Func {
	b.fn = f
	b.scope = make(map[string]*symbol, 2*len(f.Params))
	b.names = map[string]*ir.Value{}
	b.next = map[string]int{}
	b.log = b.log[:0]
	out := &ir.Func{Name: f.Name, Opset: f.Opset, Pos: b.pos(f.Pos), Body: &ir.Block{}}
	if f.Opset != "" && ir.OpsetNumber(f.Opset) == 0 {
		b.list.Warningf(b.src.NameSpan(f.OpsetPos, f.Opset), codeOp, "",
			"unknown operation set %s; using the oldest form of each operation", f.Opset)
	}
	out.Body.Params = b.params(f.Params)
	b.flexible(f, out)
	if f.Body != nil {
		b.body(f.Body, out.Body)
		if !b.opts.Classes {
			withoutClasses(out)
		}
	}
	return out
}

// params declares the parameters of a function or block.
func (b *builder) params(ps []mil.Param) []*ir.Value {
	var out []*ir.Value
	for i := range ps {
		p := &ps[i]
		t, ok := b.valueType(p.Type)
		v := &ir.Value{Type: t, Pos: b.pos(p.Pos)}
		b.define(p, &symbol{value: v, broken: !ok})
		out = append(out, v)
	}
	return out
}

// define adds a name to the scope and names the value.
func (b *builder) define(p *mil.Param, s *symbol) {
	s.name, s.pos = p.Name, p.Pos
	b.rename(s.value, p.Name)
	if old := b.scope[p.Name]; old != nil {
		if old.value != nil {
			b.list.Errorf(b.src.NameSpan(p.Pos, p.Name), codeName, "", "%s is defined twice", p.Name).
				Note(b.src.NameSpan(old.pos, old.name), "%s is first defined", p.Name)
		}
		b.scope[p.Name] = s
		return
	}
	b.scope[p.Name] = s
	b.log = append(b.log, p.Name)
}

// rename sets v's name to the one from the text. A value to which this package gave that name gets another; if the name
// was already used in the text, v does.
func (b *builder) rename(v *ir.Value, name string) {
	old, taken := b.names[name]
	switch {
	case !taken:
		v.Name, b.names[name] = name, nil
	case old != nil:
		v.Name, b.names[name] = name, nil
		b.invent(old, name)
	default:
		b.invent(v, name)
	}
}

// invent sets v's name to an unused one that begins with stem.
func (b *builder) invent(v *ir.Value, stem string) {
	name := stem
	for {
		if _, taken := b.names[name]; !taken {
			break
		}
		b.next[stem]++
		name = stem + "." + strconv.Itoa(b.next[stem])
	}
	v.Name, b.names[name] = name, v
}

// lookup returns the symbol of a name. An unknown name is reported once.
func (b *builder) lookup(r *mil.Ref, op string) *symbol {
	if s := b.scope[r.Name]; s != nil {
		return s
	}
	if !b.opts.Partial {
		d := b.list.Errorf(b.src.ValueSpan(r), codeName, op, "%s is not defined here", r.Name)
		if near := b.nearName(r.Name); near != "" {
			d.WithHint("did you mean %s?", near)
		}
	}
	s := &symbol{name: r.Name, pos: r.NamePos, broken: true}
	b.scope[r.Name] = s
	b.log = append(b.log, r.Name)
	return s
}

// body builds the statements and outputs of a block whose parameters are in the scope already, and takes the statements
// from the block, since the tree of a long text is larger than what is built from it.
func (b *builder) body(src *mil.Block, out *ir.Block) {
	stmts := src.Stmts
	if !b.opts.Keep {
		src.Stmts = nil
	}
	for i, s := range stmts {
		b.stmt(s, out)
		if !b.opts.Keep {
			stmts[i] = nil
		}
	}
	for i := range src.Outputs {
		if s := b.lookup(&src.Outputs[i], ""); s.value != nil {
			out.Outputs = append(out.Outputs, s.value)
		}
	}
}

// block builds a nested block; its names are out of scope after it.
func (b *builder) block(src *mil.Block) *ir.Block {
	mark := len(b.log)
	out := &ir.Block{Params: b.params(src.Params)}
	b.body(src, out)
	for _, name := range b.log[mark:] {
		delete(b.scope, name)
	}
	b.log = b.log[:mark]
	return out
}
