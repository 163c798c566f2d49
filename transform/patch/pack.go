package patch

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
)

// Roles of bytes besides the roles of package provenance: coefficients and elements, indices of coefficients, and what
// they index.
const (
	roleValues   = "values"
	roleIndices  = "indices"
	roleCodebook = "codebook"
)

// maxShares is the largest number of tasks that one kernel is cut over. The number of
// the task is part of the names of the tiles.
const maxShares = 1 << 12

// tileNames returns a function from the number of a task to the name that
// layout/weights gives the tiles of a packed constant, without the lane: the digest of
// the bytes or, for the later tasks of a cut kernel, of the bytes followed by the number.
// It hashes the bytes once.
func tileNames(data []byte) func(task int) string {
	whole := sha256.New()
	whole.Write(data)
	return func(task int) string {
		var h hash.Hash = whole
		if task > 0 {
			c, err := whole.(hash.Cloner).Clone()
			if err != nil { // the state cannot be copied: hash from the beginning
				h = sha256.New()
				h.Write(data)
			} else {
				h = c
			}
			h.Write(binary.LittleEndian.AppendUint32(nil, uint32(task)))
		}
		return "K" + strings.ToUpper(hex.EncodeToString(h.Sum(nil)))
	}
}

// node returns the origin of the bytes of a role for a use.
func node(u *provenance.Use, role string) provenance.NodeID {
	if role == provenance.RoleBias {
		return u.Bias
	}
	return u.Values
}

// runs calls f for each run of a role in an extent, with offsets from its beginning.
func runs(x *provenance.Extent, role string, f func(from, to uint64)) {
	at := uint64(0)
	for _, l := range x.Layout {
		for range l.Times {
			for _, r := range l.Runs {
				if r.Role == role {
					f(at, at+uint64(r.Size))
				}
				at += uint64(r.Size)
			}
		}
	}
}

// size returns the number of bytes of a role in an extent.
func size(x *provenance.Extent, role string) (n uint64) {
	runs(x, role, func(from, to uint64) { n += to - from })
	return n
}

// only reports whether an extent contains only these roles and padding.
func only(x *provenance.Extent, roles ...string) bool {
	for _, l := range x.Layout {
		for _, r := range l.Runs {
			if r.Role != provenance.RolePadding && !slices.Contains(roles, r.Role) {
				return false
			}
		}
	}
	return true
}

// reader is a task that loads an extent.
type reader struct {
	task   int // index into DB.Tasks
	t      *td.Task
	kernel bool // through the coefficient lanes, not as a source
}

// readers decodes the tasks and returns, for each extent, the tasks that load it.
func (p *patcher) readers() ([][]reader, error) {
	out := make([][]reader, len(p.db.Extents))
	for i := range p.db.Extents {
		x := &p.db.Extents[i]
		n := uint64(0)
		for _, l := range x.Layout {
			for _, r := range l.Runs {
				n += uint64(l.Times) * uint64(r.Size)
			}
		}
		if n != x.Size || x.Offset > p.db.ConstantSize || n > p.db.ConstantSize-x.Offset {
			return nil, fmt.Errorf("extent %d of the debug database has %d bytes at %#x, its layout %d and the "+
				"constants %d", i, x.Size, x.Offset, n, p.db.ConstantSize)
		}
	}
	text := p.file.TextBytes()
	if uint64(len(text)) != p.db.TextSize {
		return nil, fmt.Errorf("the container's tasks take %d bytes, the debug database says %d", len(text),
			p.db.TextSize)
	}
	codec, err := td.CodecFor(p.file.TaskVersion())
	if err != nil {
		return nil, err
	}
	for i := range p.db.Tasks {
		x := &p.db.Tasks[i]
		if !slices.ContainsFunc(x.Links, func(l provenance.Link) bool { return l.Kind == provenance.LinkConstant }) {
			continue
		}
		if end := x.Offset + 4*uint64(x.Words); end > uint64(len(text)) || end < x.Offset {
			return nil, fmt.Errorf("task %d of the debug database is outside the container's tasks", i)
		}
		words := make([]uint32, x.Words)
		for k := range words {
			words[k] = binary.LittleEndian.Uint32(text[x.Offset+4*uint64(k):])
		}
		t, err := codec.DecodeWords(words)
		if err != nil {
			return nil, fmt.Errorf("task %d at %#x: %w", i, x.Offset, err)
		}
		for _, l := range x.Links {
			if l.Kind != provenance.LinkConstant {
				continue
			}
			e, ok := slices.BinarySearchFunc(p.db.Extents, l.Target, func(x provenance.Extent, at uint64) int {
				switch {
				case x.Offset > at:
					return 1
				case x.Offset+x.Size <= at:
					return -1
				}
				return 0
			})
			if !ok {
				return nil, fmt.Errorf("task %d loads constants at %#x, which are missing from the debug database", i,
					l.Target)
			}
			lane := slices.ContainsFunc(codec.FieldsAt(t, int(l.Word)), func(f td.Field) bool {
				return f.Row().Array.Base == td.CoeffBase
			})
			r := reader{i, t, lane}
			if !slices.ContainsFunc(out[e], func(o reader) bool { return o.task == r.task && o.kernel == r.kernel }) {
				out[e] = append(out[e], r)
			}
		}
	}
	return out, nil
}

// pack packs a weight into every extent that it is part of, after checking that it
// affects only coefficients.
func (p *patcher) pack(w *weight) error {
	type use struct {
		node provenance.NodeID
		role string
	}
	extents := map[use][]int{} // by operation, ascending
	var order []use
	for i := range p.db.Extents {
		x := &p.db.Extents[i]
		for k := range x.Uses {
			u := &x.Uses[k]
			if size(x, provenance.RoleTable) > 0 && u.Table != u.Node && w.from[u.Table] {
				return w.refuse("it is part of a lookup table")
			}
			for _, role := range w.roles {
				n := node(u, role)
				if !w.from[n] || size(x, role) == 0 {
					continue
				}
				if !p.plain(w, n) {
					return p.folded(w, n)
				}
				key := use{u.Node, role}
				if extents[key] == nil {
					order = append(order, key)
				}
				extents[key] = append(extents[key], i)
			}
		}
	}
	for i := range p.db.Operators {
		o := &p.db.Operators[i]
		if !w.from[o.With] && !w.from[o.Node] {
			continue
		}
		if o.Unit != "engine" {
			return w.refuse("%s %q reads it on the %s unit, out of the descriptor", o.Op, o.Name, o.Unit)
		}
		if !slices.ContainsFunc(w.roles, func(role string) bool { return extents[use{o.Node, role}] != nil }) {
			if w.roles[0] == roleCodebook {
				return w.refuse("%s %q reads the numbers that are looked up in it, not indices", o.Op, o.Name)
			}
			return w.refuse("%s %q uses it for more than coefficients: it is in the words of tasks or in a table", o.Op,
				o.Name)
		}
	}
	if order == nil {
		return w.refuse("no bytes of the pair belong to it alone")
	}
	for _, key := range order {
		if err := p.operation(w, key.node, key.role, extents[key]); err != nil {
			return err
		}
	}
	return nil
}

// operation packs a weight into the extents that one operation reads it from.
func (p *patcher) operation(w *weight, op provenance.NodeID, role string, extents []int) error {
	kernels := 0
	for _, e := range extents {
		rs := p.tasks[e]
		if len(rs) == 0 {
			return w.refuse("no task loads it")
		}
		if rs[0].kernel {
			kernels++
		}
		for _, r := range rs {
			if r.kernel != rs[0].kernel {
				return w.refuse("tasks load it both as coefficients and as a source")
			}
		}
	}
	if kernels == 0 {
		if len(extents) != 1 {
			return w.refuse("it is laid out in %d ways", len(extents))
		}
		return p.surface(w, role, extents[0])
	}
	if kernels != len(extents) {
		return w.refuse("tasks load it both as coefficients and as a source")
	}
	if role == roleCodebook {
		return p.codebook(w, extents)
	}
	return p.kernel(w, op, role, extents)
}

// codebook writes the entries of a codebook into each copy of it.
func (p *patcher) codebook(w *weight, extents []int) error {
	for _, e := range extents {
		x := &p.db.Extents[e]
		data := make([]byte, x.Size)
		fault := error(nil)
		runs(x, roleCodebook, func(from, to uint64) {
			if n := uint64(len(w.Array.Data)); n != to-from {
				fault = &Refusal{Name: w.Name, Reason: fmt.Sprintf("the file has %d entries, the codebook %d", n/2,
					(to-from)/2), Hint: "give an array of the constant's shape"}
				return
			}
			copy(data[from:to], w.Array.Data)
		})
		if fault != nil {
			return fault
		}
		if err := p.put(w, e, roleCodebook, data); err != nil {
			return err
		}
	}
	return nil
}

// surface packs a constant that tasks read as a source: its elements in order.
func (p *patcher) surface(w *weight, role string, extent int) error {
	x := &p.db.Extents[extent]
	if role != roleValues || !only(x, roleValues) {
		return w.refuse("its rows also contain other values")
	}
	if n := size(x, roleValues); n != uint64(len(w.Array.Data)) {
		return &Refusal{Name: w.Name, Reason: fmt.Sprintf("the file has %d elements, the constant %d",
			len(w.Array.Data)/2, n/2),
			Hint: "give an array of the constant's shape"}
	}
	data := make([]byte, x.Size)
	rest := w.Array.Data
	runs(x, roleValues, func(from, to uint64) { rest = rest[copy(data[from:to], rest):] })
	return p.put(w, extent, roleValues, data)
}

// put records the new content of an extent.
func (p *patcher) put(w *weight, extent int, role string, data []byte) error {
	at := place{extent, role}
	x := &p.db.Extents[extent]
	if old := p.writes[at]; old != nil {
		same := true
		runs(x, role, func(from, to uint64) { same = same && bytes.Equal(old.data[from:to], data[from:to]) })
		if !same {
			return w.refuse("its bytes are also those of %q, which is set to other values", old.by.Name)
		}
		return nil
	}
	p.writes[at] = &write{data, w}
	w.change.Bytes += int(size(x, role))
	w.change.Tasks += len(p.tasks[extent])
	return nil
}

// share is the part of a kernel in one extent.
type share struct {
	extent int
	dst    int // first address that its tasks write
	plan   weights.Plan
	kernel weights.Kernel // without values
	paired bool
	scaled bool // the values are bytes with a scale for each output
}

func extentOf(t *td.Task, f td.Field) int { return int(t.Extent(f)) }

// share determines the layout of an extent from its tasks.
func (p *patcher) share(w *weight, extent int) (share, error) {
	s := share{extent: extent}
	for i, r := range p.tasks[extent] {
		t := r.t
		switch {
		case !t.Multiplies() || td.KernelFormat(t.Get(td.KernelFmt)) != td.KernelFP16 && !t.On(td.PostScaleMode):
			return s, w.refuse("the task at %#x does not load fp16 coefficients", p.db.Tasks[r.task].Offset)
		case t.On(td.SparseFmt):
			return s, w.refuse("the task at %#x loads it without its zeros, so that its size depends on its values",
				p.db.Tasks[r.task].Offset)
		}
		groups, in, out := extentOf(t, td.NumGroups), extentOf(t, td.Cin), extentOf(t, td.Cout)
		one := share{extent: extent, dst: t.Int(td.DstBase)}
		one.kernel = weights.Kernel{
			Out:    groups * out,
			In:     groups * in,
			KH:     extentOf(t, td.Kh),
			KW:     extentOf(t, td.Kw),
			Groups: groups,
		}
		one.plan = weights.Plan{
			Form:       weights.Dense,
			Out:        groups * out,
			Cores:      1 << t.Get(td.ActiveNE),
			OCGSize:    t.Int(td.OCGSize),
			ConvGroups: groups,
		}
		switch {
		case t.On(td.UnicastEn):
			if in != out {
				return s, w.refuse("the task at %#x is depthwise but has %d and %d channels", p.db.Tasks[r.task].Offset,
					in, out)
			}
			one.plan.Form, one.plan.ConvGroups, one.plan.OCGSize = weights.Depthwise, out, 0
			one.kernel.Groups, one.kernel.In = out, out
			one.paired = t.Int(td.Ox) == 2
		case groups > 1:
			one.plan.Form = weights.Grouped
			fallthrough
		default:
			one.plan.Groups = weights.SplitOCGs(out, one.plan.Cores, one.plan.OCGSize)
		}
		if t.On(td.PalettizedEn) {
			one.kernel.Book = p.entries(extent)
		}
		// Check the size before allocating memory: the words may be corrupt.
		bits := uint64(16)
		switch {
		case one.kernel.Book != nil:
			bits = uint64(one.kernel.Book.Bits())
		case t.On(td.PostScaleMode):
			bits = 8
		}
		one.scaled = bits == 8 && one.kernel.Book == nil
		if n, has := bits*uint64(one.kernel.Out)*uint64(one.kernel.Red())/8, p.db.Extents[extent].Size; n > has {
			return s, w.refuse("the task at %#x reads %d bytes of coefficients, the pair has %d",
				p.db.Tasks[r.task].Offset, n, has)
		}
		if i == 0 {
			s = one
			continue
		}
		s.dst = min(s.dst, one.dst)
		if a, b := &s.kernel, &one.kernel; a.Out != b.Out || a.In != b.In || a.KH != b.KH || a.KW != b.KW ||
			a.Groups != b.Groups || s.plan.Cores != one.plan.Cores || s.plan.OCGSize != one.plan.OCGSize {
			return s, w.refuse("its tasks read the same bytes in different layouts")
		}
	}
	return s, nil
}

// entries returns the codebook of an extent.
func (p *patcher) entries(extent int) weights.Palette {
	x := &p.db.Extents[extent]
	content := p.content(x)
	var book weights.Palette
	runs(x, roleCodebook, func(from, to uint64) {
		if book == nil {
			book = weights.NewPalette(content[from:to])
		}
	})
	return book
}

// kernel packs a weight or bias into the extents of one operation, each a share of
// its outputs.
func (p *patcher) kernel(w *weight, op provenance.NodeID, role string, extents []int) error {
	var shares []share
	outs := 0
	for _, e := range extents {
		s, err := p.share(w, e)
		if err != nil {
			return err
		}
		shares = append(shares, s)
		outs += s.kernel.Out
	}
	// The shares of a cut kernel are stored in either order; the addresses of their results determine it.
	slices.SortStableFunc(shares, func(a, b share) int { return cmp.Compare(a.dst, b.dst) })
	for i := 1; i < len(shares); i++ {
		a, b := &shares[i-1].kernel, &shares[i].kernel
		if a.Red() != b.Red() || a.KH != b.KH || a.KW != b.KW || shares[i-1].dst == shares[i].dst {
			return w.refuse("it is cut in more than one way")
		}
	}
	k := &shares[0].kernel
	rule := ""
	for i := range p.db.Extents[extents[0]].Uses {
		if u := &p.db.Extents[extents[0]].Uses[i]; u.Node == op {
			rule = u.Rule
		}
	}
	var rows []byte // [outs][red], fp16
	var bias []uint16
	if role == provenance.RoleBias {
		n := len(w.Array.Data) / 2
		if len(w.Array.Shape) > 1 || n != outs && n != 1 {
			return &Refusal{Name: w.Name, Reason: fmt.Sprintf("the file's shape is %s, the bias has [%d]",
				provenance.ShapeString(w.Array.Shape), outs), Hint: "give an array of the constant's shape"}
		}
		bias = make([]uint16, outs)
		for i := range bias {
			bias[i] = binary.LittleEndian.Uint16(w.Array.Data[2*min(i, n-1):])
		}
	} else {
		var err error
		if rows, err = p.ordered(w, op, rule, k, outs); err != nil {
			return err
		}
	}
	red := k.Red()
	var fit fit
	for first, i := 0, 0; i < len(shares); i++ {
		s := &shares[i]
		n := s.kernel.Out
		switch {
		case rows != nil && s.kernel.Book != nil:
			s.kernel.W = fit.palette(rows[2*first*red:2*(first+n)*red], s.kernel.Book)
		case rows != nil && s.scaled:
			return w.refuse("its tasks read bytes with scales, and new values would need other scales")
		case rows != nil:
			s.kernel.W = rows[2*first*red : 2*(first+n)*red]
		default:
			s.kernel.W = make([]byte, 2*n*red)
		}
		x := &p.db.Extents[s.extent]
		if size(x, provenance.RoleBias) > 0 {
			s.kernel.Bias = make([]uint16, n)
			if bias != nil {
				s.kernel.Bias = bias[first : first+n]
			}
		}
		if size(x, provenance.RoleTable) > 0 {
			s.kernel.Table = &weights.Table{}
		}
		first += n
		data, err := s.pack()
		if err != nil {
			return w.refuse("%v", err)
		}
		if uint64(len(data)) != x.Size {
			return w.refuse("the packing of its tasks takes %d bytes, the pair has %d", len(data), x.Size)
		}
		if err := p.put(w, s.extent, role, data); err != nil {
			return err
		}
	}
	return fit.judge(w)
}

// pack packs a share.
func (s *share) pack() ([]byte, error) {
	if s.paired {
		data, _, err := s.plan.PackPaired(&s.kernel)
		return data, err
	}
	n, err := s.plan.Size(&s.kernel)
	if err != nil {
		return nil, err
	}
	data := make([]byte, n)
	return data, s.plan.Pack(data, &s.kernel, 0)
}

// ordered returns the elements of a weight as rows, one per output, in the order of the
// kernel of a lowering rule. The kernel has outs outputs and otherwise the extents of k.
func (p *patcher) ordered(w *weight, op provenance.NodeID, rule string, k *weights.Kernel, outs int) ([]byte, error) {
	shape := slices.Clone(w.Array.Shape)
	per := int64(k.In / k.Groups)
	is := func(want ...int64) bool { return slices.Equal(shape, want) }
	wrong := func(want string) error {
		if p.shaped(w) {
			return w.refuse("its shape is %s, that of its tasks' coefficients %s: they are not the constant as it "+
				"stands", provenance.ShapeString(w.Array.Shape), want)
		}
		return &Refusal{Name: w.Name, Reason: fmt.Sprintf("the file's shape is %s, the tasks' %s",
			provenance.ShapeString(w.Array.Shape), want),
			Hint: "give an array of the constant's shape, or " + compileAgain, Model: true}
	}
	o, kh, kw := int64(outs), int64(k.KH), int64(k.KW)
	switch rule {
	case "convolution":
		if is(o, per, kh, kw) || kh == 1 && is(o, per, kw) {
			return w.Array.Data, nil
		}
		return nil, wrong(fmt.Sprintf("[%d, %d, %d, %d]", o, per, kh, kw))
	case "linear":
		if kh == 1 && kw == 1 && is(o, per) {
			return w.Array.Data, nil
		}
		return nil, wrong(fmt.Sprintf("[%d, %d] in %d by %d taps", o, per, kh, kw))
	case "matmul":
		for len(shape) > 2 && shape[0] == 1 {
			shape = shape[1:]
		}
		isTransposed := slices.ContainsFunc(p.db.Operators, func(x provenance.Operator) bool {
			return x.Node == op && x.Transposed
		})
		want := []int64{o, per}
		if isTransposed {
			want = []int64{per, o}
		}
		switch {
		case !p.shaped(w):
			// The matrix is square, so its shape does not show whether it was transposed.
			return nil, w.refuse("the debug database is of an old revision and does not show whether it was transposed")
		case kh != 1 || kw != 1 || !is(want...):
			return nil, wrong(provenance.ShapeString(want))
		case isTransposed:
			return transposed(w.Array.Data, int(per), int(o)), nil
		}
		return w.Array.Data, nil
	}
	return nil, w.refuse("the coefficient layout of the rule %s is not supported", rule)
}

// transposed returns the transpose of a rows x cols matrix of fp16 elements.
func transposed(data []byte, rows, cols int) []byte {
	out := make([]byte, len(data))
	for r := range rows {
		for c := range cols {
			copy(out[2*(c*rows+r):][:2], data[2*(r*cols+c):])
		}
	}
	return out
}
