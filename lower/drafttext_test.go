package lower

import (
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
)

// segmentOf returns the operations of a graph as a segment with the given outputs, fusing what may be fused.
func segmentOf(g *irbuild.Graph, outs ...*ir.Value) *Segment {
	body := g.Program().Funcs[0].Body
	seg := &Segment{
		Codec:   td.V7,
		Keep:    true,
		Name:    "s",
		Ops:     body.Ops,
		Inputs:  body.Params,
		Outputs: outs,
		Fused:   map[*ir.Op][]*ir.Op{},
		Ports:   map[*ir.Value]string{},
	}
	for _, v := range append(append([]*ir.Value(nil), body.Params...), outs...) {
		seg.Ports[v] = v.Name
	}
	lead := (*ir.Op)(nil)
	for _, op := range seg.Ops {
		if lead != nil && CanFuse(lead, seg.Fused[lead], op) {
			seg.Fused[lead] = append(seg.Fused[lead], op)
			continue
		}
		lead = op
	}
	return seg
}

// opText returns one line for an operation: its operands with their types, those that are small constants with their
// values instead.
func opText(op *ir.Op) string {
	var args []string
	op.Operands(func(p *ir.Param, v *ir.Value) {
		switch {
		case v.IsConst() && v.Type.DType == ir.String:
			args = append(args, fmt.Sprintf("%s %q", p.Name, v.Const.Strings))
		case v.IsConst() && v.Type.Elems() <= 8 && v.Type.DType != ir.FP16:
			var ns []string
			for i := range v.Type.Elems() {
				ns = append(ns, fmt.Sprint(v.Const.Float(i)))
			}
			args = append(args, string(p.Name)+" "+strings.Join(ns, ","))
		case v.IsConst() && v.Type.Elems() == 1:
			args = append(args, fmt.Sprintf("%s %g", p.Name, v.Const.Float(0)))
		case v.IsConst():
			args = append(args, string(p.Name)+" constant "+ir.ShapeString(v.Type.Shape))
		default:
			args = append(args, string(p.Name)+" "+v.Name+ir.ShapeString(v.Type.Shape))
		}
	})
	var res []string
	for _, v := range op.Results {
		res = append(res, v.Name+ir.ShapeString(v.Type.Shape))
	}
	return fmt.Sprintf("%s = %s(%s)", strings.Join(res, ", "), op.Def.Name, strings.Join(args, "; "))
}

// printer names the buffers of a procedure in the order in which its drafts use them.
type printer struct {
	names map[*buffer]string
	count map[space]int
}

func newPrinter() *printer { return &printer{names: map[*buffer]string{}, count: map[space]int{}} }

func (p *printer) buffer(b *buffer) string {
	if p.names[b] == "" {
		p.names[b] = fmt.Sprintf("%s%d", map[space]string{
			inPort:   "in",
			outPort:  "out",
			scratch:  "s",
			constant: "c",
		}[b.space],
			p.count[b.space])
		p.count[b.space]++
	}
	return p.names[b]
}

// wordList collects the parts of a line.
type wordList []string

func (w *wordList) add(on bool, format string, args ...any) {
	if on {
		*w = append(*w, fmt.Sprintf(format, args...))
	}
}

// numbers writes extents or strides, the group loop's first.
func numbers[T any](ns []T, sep string) string {
	var out []string
	for _, n := range ns {
		out = append(out, fmt.Sprint(n))
	}
	return strings.Join(out, sep)
}

func axes(on [5]bool) (s string) {
	for ax, o := range on {
		if o {
			s += string("GDCHW"[ax])
		}
	}
	return s
}

// draft returns one line for what a rule requests.
func (p *printer) draft(d *draft) string {
	var w wordList
	if n := d.ne; n != nil {
		w.add(true, "neural %s", td.NEOp.Row().Meaning(uint32(n.op)))
		w.add(n.unicast, "channelwise")
		w.add(n.span != 0, "span %d", n.span)
		w.add(n.category != 0, "category %d", n.category)
		w.add(n.bias != 0, "bias %.4g", n.bias)
		w.add(n.scale != 1, "scale %.4g", n.scale)
		w.add(n.act != 0, "then %s", td.Nonlinear.Row().Meaning(uint32(n.act)))
	}
	if e := d.pe; e != nil {
		w.add(true, "planar %s", td.PlanarType.Row().Meaning(uint32(e.kind)))
		w.add(e.kind == td.PlanarTwo, "%s", td.PEOp.Row().Meaning(uint32(e.op)))
		w.add(d.reduces(), "%s", td.PoolMode.Row().Meaning(uint32(e.pool)))
		w.add(e.neg1, "negate 1")
		w.add(e.neg2, "negate 2")
		w.add(e.clamp2, "clamp 2")
		w.add(e.relu, "clamp")
		w.add(e.square, "square")
		w.add(e.cond != 0, "%s", td.PECond.Row().Meaning(uint32(e.cond)))
		w.add(e.scale != 1, "scale %.4g", e.scale)
		w.add(e.bias != 0, "bias %.4g", e.bias)
		w.add(e.final != 1, "final %.4g", e.final)
		w.add(e.epsilon != 0, "epsilon %.4g", e.epsilon)
		w.add(e.end != 0, "then %s", td.PENonlinear.Row().Meaning(uint32(e.end)))
	}
	if g := d.window; g != (window{kw: 1, kh: 1, sx: 1, sy: 1, ox: 1}) {
		w.add(true, "window %dx%d step %dx%d pad %d,%d", g.kh, g.kw, g.sy, g.sx, g.py, g.px)
		w.add(g.ox != 1, "%d columns at a time", g.ox)
	}
	w.add(d.padMax, "padded for a maximum")
	if k := d.kernel; k != nil {
		w.add(k.parts != nil, "kernel of %d lanes in %d cores", len(d.relocs()), d.cores)
		if k.rows != nil {
			w.add(true, "kernel %s+%d rows of %d, %d apart, in %d cores", p.buffer(k.rows.buf), k.rows.off, k.rows.size,
				k.rows.step, d.cores)
		}
		w.add(k.ocgSize != 0, "group size 2^%d", k.ocgSize)
		w.add(k.bias, "with bias")
		w.add(k.skip, "without zeros")
		w.add(k.masks, "as masks")
	}
	w.add(d.gather, "gathered")
	w.add(d.tile != 0, "tile %d", d.tile)
	parts := []string{strings.Join(w, ", ")}
	for _, r := range [...]role{source1, source2, result} {
		if o := d.stream(r); o != nil {
			parts = append(parts, p.operand(o))
		}
	}
	return strings.Join(parts[:len(parts)-1], " | ") + " -> " + parts[len(parts)-1]
}

func (p *printer) operand(o *operand) string {
	w := wordList{fmt.Sprintf("%s+%d %s by %s", p.buffer(o.buf), o.off, numbers(o.ext[:], "x"),
		numbers(o.stride[:], "/"))}
	w.add(o.buf.narrow, "of bytes")
	w.add(o.swap, "transposed")
	w.add(o.broadcast != [5]bool{}, "broadcast %s", axes(o.broadcast))
	w.add(o.flat != o.broadcast, "flat %s", axes(o.flat))
	w.add(o.pix != 0, "from column %d", o.pix)
	w.add(o.inter > 1, "%d interleaved", o.inter)
	w.add(o.rows != 0, "%d rows", o.rows)
	w.add(o.cols != 0, "%d columns", o.cols)
	return strings.Join(w, " ")
}

// planned returns one line for what planners decide about a draft.
func (p *printer) planned(d *draft) string {
	var w wordList
	w.add(d.shift != shift{}, "shift %d (%d..%d)", d.shift.pref, d.shift.min, d.shift.max)
	w.add(d.shift.small, "small")
	w.add(d.patch != [2]int{}, "patch 2^%d x 2^%d", d.patch[0], d.patch[1])
	w.add(d.cores != 0, "%d cores", d.cores)
	w.add(d.tile != 0, "tile %d", d.tile)
	w.add(d.gather, "gathered")
	w.add(d.reach != 0, "reach %d", d.reach)
	w.add(d.floor != 0, "floor %d", d.floor)
	w.add(d.keeps, "keeps source 1")
	w.add(d.hint != 0, "cache hint %d", d.hint)
	w.add(d.partial, "partial")
	deps := &d.deps
	w.add(*deps != dependence{}, "source %#x result %#x step %d", deps.sourceConfig, deps.resultConfig, deps.overlap)
	w.add(d.deps.planarBefore, "planar before")
	w.add(d.deps.planarNext, "planar next")
	w.add(d.time != 0, "%d us", d.time)
	w.add(d.first, "first")
	w.add(d.last, "last")
	w.add(d.live != 0, "live %#x", d.live)
	for _, r := range [...]role{source1, source2, result} {
		if o := d.stream(r); o != nil {
			var s wordList
			s.add(o.buf.space == scratch && o.buf.def >= 0, "tasks %d to %d", o.buf.def, o.buf.last)
			s.add(o.buf.space == scratch && o.buf.off != 0, "at %d", o.buf.off)
			s.add(o.where != byDMA, "%s", [...]string{"", "in L2, named", "in L2"}[o.where])
			s.add(o.staged != 0, "staged %d", o.staged)
			s.add(o.l2 != l2Place{}, "L2 %d by %s", o.l2.base, numbers(o.l2.stride[:], "/"))
			w.add(len(s) > 0, "%s: %s", p.buffer(o.buf), strings.Join(s, ", "))
		}
	}
	return strings.Join(w, "; ")
}

// taskText returns a task's words: their number and checksum, and a line for each block with the fields in which the
// task differs from one that does nothing.
func taskText(t *testing.T, task *td.Task) string {
	t.Helper()
	ws, err := td.V7.EncodeWords(task)
	if err != nil {
		t.Fatal(err)
	}
	sum := crc32.NewIEEE()
	for _, w := range ws {
		fmt.Fprintf(sum, "%08x", w)
	}
	nothing := &draft{ne: &neuralWork{op: td.NEPass, scale: 1}, window: window{kw: 1, kh: 1, sx: 1, sy: 1, ox: 1}}
	nothing.src[0].where, nothing.dst.where = inL2, inL2
	nothing.src[0].buf, nothing.dst.buf = &buffer{}, &buffer{}
	idle := td.New()
	(&schedule{codec: td.V7}).encode(idle, nothing)
	lines := map[string][]string{}
	var order []string
	for i, fields := 0, len(td.Fields()); i < fields; i++ {
		f := td.Field(i)
		r := f.Row()
		if task.Get(f) == idle.Get(f) {
			continue
		}
		block := r.Home().Block.Name
		name, text := strings.TrimPrefix(r.Name, block+"."), r.Text(task.Get(f))
		if n, step := run(task, f); n > 1 { // elements that are equal, or one step apart
			first, last := r.Array.Index, r.Array.Index+n-1
			name = fmt.Sprintf("%s[%d..%d]", strings.TrimPrefix(r.Array.Name, block+"."), first, last)
			if step != 0 {
				text += fmt.Sprintf(" and %d more each", step)
			}
			i += n - 1
		}
		if lines[block] == nil {
			order = append(order, block)
		}
		lines[block] = append(lines[block], name+"="+text)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d words, checksum %08x\n", len(ws), sum.Sum32())
	for _, n := range order {
		fmt.Fprintf(&b, "    %s: %s\n", n, strings.Join(lines[n], " "))
	}
	return b.String()
}

// run counts the elements of an indexed field, from f on, that continue in equal steps.
func run(task *td.Task, f td.Field) (n int, step int) {
	r := f.Row()
	left := r.Array.Len - r.Array.Index
	for n = 1; n < left; n++ {
		d := task.Int(f.At(n)) - task.Int(f.At(n-1))
		if n == 1 {
			step = d
		}
		if d != step {
			break
		}
	}
	return n, step
}
