package engine

import (
	"encoding/binary"
	"fmt"

	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/engine/port"
)

// kernel is the content of a task's coefficient lanes.
type kernel[T any] struct {
	lut  *lut
	bias []T // one per group and output channel; nil without biases
	w    []T // [group][output][red], red over (ci, ky, kx); depthwise [channel][ky, kx]; an output may have several
}

// biasOf returns the bias of an output, zero without biases.
func (k *kernel[T]) biasOf(output int) (bias T) {
	if k.bias != nil {
		bias = k.bias[output]
	}
	return bias
}

// part is what one lane streams, read from front to back.
type part[T any] struct {
	lane int
	base int64
	place
	pos  int
	size int
	book []T // codebook of palettized weights
	// piece is the size of the part of one group and output group, of a kernel that has such pieces.
	piece int
}

// name returns the name of the stream for faults.
func (p *part[T]) name() string { return laneNames[p.lane] }

var laneNames = func() (names [td.Lanes + 1]string) {
	for i := range names {
		names[i] = fmt.Sprintf("kernel lane %d", i)
	}
	names[td.Lanes] = "table stream"
	return names
}()

// take returns the position of the next n bytes in the part.
func (p *part[T]) take(n int) (int, error) {
	if n > p.size-p.pos {
		return 0, badAt(p.name(), p.base+int64(p.pos),
			"coefficients need %d more bytes, %d of the part's %d are left", n, p.size-p.pos, p.size)
	}
	p.pos += n
	return p.pos - n, nil
}

// bytes returns the next n bytes.
func (p *part[T]) bytes(n int) ([]byte, error) {
	at, err := p.take(n)
	if err != nil {
		return nil, err
	}
	if p.buf == nil {
		return nil, badAt(p.name(), p.base+int64(at),
			"only coefficients of two bytes each may be what tasks have written")
	}
	return p.buf[at:][:n], nil
}

// reader reads the coefficients of one task.
type reader[T, R any] struct {
	x     *exec[T, R]
	g     *geometry
	cores int
	lanes [td.Lanes]part[T]
	parts [td.Lanes]*part[T] // the live ones of lanes
	apart part[T]            // of a lookup table with a stream of its own
	out   *kernel[T]
	wide  *[65536]T // values of weights
	bias  bool
	skip  bool
	octet bool // weights are signed bytes
	scale bool // of those, the products with the scale of their output, which are before the biases
	bits  int  // of a codebook index, 0 without a codebook
	mask  bool // zero-skipping: the weights follow from the masks alone
	slots int  // least lane slots of a zero-skipping cell
	cap   int  // outputs of one core in an output group
	// Of a kernel that tasks have written, bytes from the part of a group to the part of the next one, and of an output
	// group; the latter is 0 if parts have no pieces.
	perGroup, perBlock int64
	// blocks are what dense reads.
	blocks []block[T]
}

// kernel reads the table, the biases and the weights that a task needs.
func (x *exec[T, R]) kernel(g *geometry) (*kernel[T], error) {
	t := x.t
	r := &x.reader
	// What it points to belongs to the task, but for the memory of blocks.
	defer func() {
		clear(r.blocks)
		*r = reader[T, R]{blocks: r.blocks[:0]}
	}()
	*r = reader[T, R]{x: x, g: g, cores: 1 << t.Get(td.ActiveNE), out: &x.coefficients, bias: t.On(td.NEBias),
		skip: t.On(td.SparseFmt), octet: td.KernelFormat(t.Get(td.KernelFmt)) == td.KernelInt8, slots: 2,
		scale: t.On(td.PostScaleMode),
		cap:   1 << t.Get(td.OCGSize), wide: x.num.values(true), blocks: r.blocks,
		perGroup: int64(t.Get(td.KernelGroup)), perBlock: int64(t.Get(td.KernelBlock))}
	if t.On(td.SmallSource) {
		r.slots = 4
	}
	table := t.Get(td.Nonlinear) == 2
	if g.op != opKernel {
		if r.bias {
			return nil, badField(t, td.NEBias, fmt.Sprintf("a bias is known with a kernel (NE.Op 0), not with NE.Op %d",
				g.op))
		}
		if !table {
			return r.out, nil
		}
	}
	total, err := r.open()
	if err != nil {
		return nil, err
	}
	if table {
		if err := r.table(); err != nil {
			return nil, err
		}
	}
	if g.op != opKernel {
		return r.out, nil
	}
	if err := r.codebooks(); err != nil {
		return nil, err
	}
	if r.scale && (!r.octet || r.skip || r.bits > 0 || g.paired || r.perBlock > 0) {
		return nil, badField(t, td.PostScaleMode,
			"scales are known of coefficients that are signed bytes (KernelFmt 1)")
	}
	return r.out, r.planes(total)
}

// open binds the lanes in use and returns the sum of the bytes that they are in.
func (r *reader[T, R]) open() (total int64, err error) {
	t := r.x.t
	if !t.On(td.KernelOn) {
		return 0, badField(t, td.KernelOn, "the task needs coefficients")
	}
	if !t.On(td.KBE0) {
		return 0, badField(t, td.KBE0, "the coefficients name no buffer-access register")
	}
	bar := t.Int(td.KBase0)
	r.x.ev.Kernel = 0
	if t.Get(tableStream)&1 == 1 {
		return r.openTable(bar)
	}
	for i := range td.Lanes {
		if !t.On(td.CoeffEn.At(i)) {
			continue
		}
		p := &r.lanes[i]
		p.lane, p.base = i, int64(t.Get(td.KernelBase))+int64(t.Get(td.CoeffBase.At(i)))
		n := int64(t.Get(td.CoeffSize.At(i)))
		p.piece = int(n)
		moved := n
		if r.perBlock > 0 {
			rest := r.g.out[axC] - i*r.cap
			if rest <= 0 {
				continue // no outputs
			}
			groups, blocks := int64(r.g.out[axG]), int64((rest-1)/(r.cap*r.cores)+1)
			moved *= groups * blocks
			n += (groups-1)*r.perGroup + (blocks-1)*r.perBlock
		}
		if p.place, err = r.x.num.window(r.x.mem, p.name(), bar, p.base, n, false); err != nil {
			return 0, err
		}
		p.size = int(n)
		r.parts[i] = p
		total += n
		r.x.ev.Kernel += moved
	}
	return total, nil
}

// tableStream is the configuration of the stream of the lookup table.
var tableStream = td.StreamConfig.At(td.TableStream)

// openTable binds the stream of a lookup table that is not in the lanes, and returns its bytes.
func (r *reader[T, R]) openTable(bar int) (total int64, err error) {
	t := r.x.t
	if r.g.op == opKernel {
		return 0, badField(t, tableStream, "a kernel has its table in its lanes")
	}
	base, offset := t.Get(td.TableBase), td.StreamBase.At(td.TableStream)
	if base != t.Get(offset) {
		return 0, badField(t, offset, fmt.Sprintf("%s is %#x; a table has one place", td.TableBase, base))
	}
	p := &r.apart
	p.lane, p.base = td.Lanes, int64(base)
	total = int64(t.Get(td.StreamSize.At(td.TableStream)))
	if p.place, err = r.x.num.window(r.x.mem, p.name(), bar, p.base, total, false); err != nil {
		return 0, err
	}
	p.size = int(total)
	r.x.ev.Kernel = total
	return total, nil
}

// table reads the lookup table: it has a stream of its own, or every lane in use has a copy and the first one counts.
func (r *reader[T, R]) table() error {
	if r.apart.size > 0 {
		b, err := r.apart.bytes(lutBytes)
		if err != nil {
			return err
		}
		r.out.lut, err = newLUT(r.apart.name(), r.apart.base, b)
		return err
	}
	for _, p := range r.parts {
		if p == nil {
			continue
		}
		at := p.base + int64(p.pos)
		b, err := p.bytes(lutBytes)
		if err != nil {
			return err
		}
		if r.out.lut == nil {
			if r.out.lut, err = newLUT(p.name(), at, b); err != nil {
				return err
			}
		}
	}
	if r.out.lut == nil {
		return bad("NE.NonlinearMode = 2: no live lane holds the lookup table")
	}
	return nil
}

// core returns the part of a core that is in use.
func (r *reader[T, R]) core(c int) (*part[T], error) {
	if c >= td.Lanes || r.parts[c] == nil {
		return nil, bad("KernelDMA.CoeffEn[%d] = 0: core %d has outputs to compute", c, c)
	}
	return r.parts[c], nil
}

// planes reads biases and weights.
func (r *reader[T, R]) planes(total int64) error {
	g := r.g
	// Every weight takes two bytes or one, an index, or at least a mask bit in some lane.
	limit := total / 2
	switch {
	case r.octet:
		limit = total
	case r.skip:
		limit = total * 8
	case r.bits > 0:
		limit = total * 8 / int64(r.bits)
	}
	n := int64(1)
	for _, f := range []int{g.out[axG], g.out[axC], g.kernels, g.red} {
		if n *= int64(f); n > limit {
			return bad("%d groups of %d outputs with %d weights each do not fit in %d bytes of coefficients",
				g.out[axG], g.out[axC], g.red, total)
		}
	}
	r.out.w = r.x.numbers(int(n))
	if r.skip {
		clear(r.out.w) // such bodies store only what is not zero
	}
	if r.bias {
		r.out.bias = r.x.numbers(g.out[axG] * g.out[axC] * g.kernels)
	}
	if g.unicast {
		return r.depthwise()
	}
	for j := range g.out[axG] {
		if err := r.x.ctx.Err(); err != nil {
			return err
		}
		if err := r.group(j); err != nil {
			return err
		}
	}
	return r.dense()
}

// group reads the planes of one convolution group, output group by output
// group.
func (r *reader[T, R]) group(j int) error {
	g, n := r.g, r.cores
	if r.perBlock > 0 {
		return r.pieces(j)
	}
	most := max(1, r.cap/g.kernels)
	for start, first := 0, true; start < g.out[axC]; first = false {
		rem := g.out[axC] - start
		per := rem / n
		lanes := 1
		switch {
		case per >= most:
			lanes = most
		case first && per > 0 && rem%n == 0:
			lanes = per
		default:
			for 2*lanes <= per {
				lanes *= 2
			}
		}
		active := min(n, rem)
		for c := range active {
			p, err := r.core(c)
			if err != nil {
				return err
			}
			if err := r.plane(p, (j*g.out[axC]+start+c*lanes)*g.kernels, lanes*g.kernels); err != nil {
				return err
			}
		}
		start += lanes * active
	}
	if g.out[axG] > 1 {
		for _, p := range r.parts {
			if p != nil {
				p.pos = (p.pos + 63) &^ 63 // the size of a part is a multiple of 64
			}
		}
	}
	return nil
}

// pieces finds the pieces of one group of a kernel that tasks have written: of each output group, as many outputs of
// each core as are left.
func (r *reader[T, R]) pieces(j int) error {
	g := r.g
	if r.bias || r.skip || r.octet || r.bits > 0 {
		return badField(r.x.t, td.KernelBlock, "a kernel in pieces has coefficients of two bytes each and no biases")
	}
	for first := 0; first < g.out[axC]; first += r.cap {
		c, group := first/r.cap%r.cores, first/(r.cap*r.cores)
		p, err := r.core(c)
		if err != nil {
			return err
		}
		if need := 2 * r.cap * g.red; need > p.piece {
			return badField(r.x.t, td.CoeffSize.At(c), fmt.Sprintf("%d outputs of %d terms take %d bytes", r.cap, g.red,
				need))
		}
		r.blocks = append(r.blocks, block[T]{
			p: p, at: int(int64(j)*r.perGroup + int64(group)*r.perBlock), first: j*g.out[axC] + first, lanes: r.cap,
			outs: min(r.cap, g.out[axC]-first),
		})
	}
	return nil
}

// scales reads the fp16 scales of consecutive outputs, nil without scales.
func (r *reader[T, R]) scales(p *part[T], lanes int) ([]uint16, error) {
	if !r.scale {
		return nil, nil
	}
	b, err := p.bytes(2 * lanes)
	out := make([]uint16, len(b)/2)
	for i := range out {
		out[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return out, err
}

// bytesTimes returns the weight that each byte stands for: the byte times the scale, rounded to fp16 (modelled).
func (r *reader[T, R]) bytesTimes(scale uint16) *[256]T {
	each := new([256]T)
	for b := range each {
		each[b] = r.wide[port.Narrow(float32(int8(b))*port.Widen(scale))]
	}
	return each
}

// biases reads the fp16 biases of consecutive outputs.
func (r *reader[T, R]) biases(p *part[T], first, lanes int) error {
	if !r.bias {
		return nil
	}
	at, err := p.take(2 * lanes)
	if err != nil {
		return err
	}
	r.x.num.readFP16(r.out.bias[first:][:lanes], p.place, at, 2, false)
	return nil
}

// plane reads the coefficients of consecutive outputs of one core.
func (r *reader[T, R]) plane(p *part[T], first, lanes int) error {
	scales, err := r.scales(p, lanes)
	if err != nil {
		return err
	}
	if err := r.biases(p, first, lanes); err != nil {
		return err
	}
	red := r.g.red
	switch {
	case r.skip:
		return r.skipping(p, first, lanes, r.g.in[axC])
	case r.scale:
		b, err := p.bytes(lanes * red)
		if err != nil {
			return err
		}
		for l := range lanes {
			each := r.bytesTimes(scales[l])
			row := r.out.w[(first+l)*red:][:red]
			for k := range row {
				row[k] = each[b[k*lanes+l]]
			}
		}
		return nil
	case r.octet:
		return badField(r.x.t, td.KernelFmt,
			"int8 coefficients are known of channelwise kernels, or with scales (PostScaleMode)")
	}
	if r.bits > 0 {
		return r.indexed(p, first, lanes)
	}
	at, err := p.take(2 * lanes * red)
	if err != nil {
		return err
	}
	r.blocks = append(r.blocks, block[T]{
		p:     p,
		at:    at,
		first: first,
		lanes: lanes,
		outs:  lanes,
	})
	return nil
}

// block is where a part has the coefficients of consecutive outputs, the coefficients of one input after another.
type block[T any] struct {
	p            *part[T]
	at           int
	first, lanes int
	outs         int // of the lanes, in use
}

// blockInputs is the number of inputs whose coefficients are read at a time, so that they stay in the first-level
// cache.
const blockInputs = 256

// dense reads the blocks that plane has found.
func (r *reader[T, R]) dense() error {
	red := r.g.red
	return r.x.each(len(r.blocks), grain(r.cap*red), func(lo, hi int) {
		buf := r.x.borrow(min(blockInputs, red) * r.cap)
		defer r.x.giveBack(buf)
		for _, b := range r.blocks[lo:hi] {
			if b.lanes == 1 {
				r.x.num.readFP16(r.out.w[b.first*red:][:red], b.p.place, b.at, 2, true)
				continue
			}
			for k := 0; k < red; k += blockInputs {
				n := min(blockInputs, red-k)
				v := buf.v[:n*b.outs]
				if b.outs == b.lanes {
					r.x.num.readFP16(v, b.p.place, b.at+2*k*b.lanes, 2, true)
				} else { // no task has written the other lanes
					for i := range n {
						r.x.num.readFP16(v[i*b.outs:][:b.outs], b.p.place, b.at+2*(k+i)*b.lanes, 2, true)
					}
				}
				r.x.num.transpose(r.out.w[b.first*red+k:], red, v, b.outs)
			}
		}
	})
}

// depthwise reads channels c, c+n, c+2n, .. from the lane of core c.
func (r *reader[T, R]) depthwise() error {
	for ch := range r.g.out[axC] {
		p, err := r.core(ch % r.cores)
		if err != nil {
			return err
		}
		scales, err := r.scales(p, 1)
		if err != nil {
			return err
		}
		if err := r.biases(p, ch*r.g.kernels, r.g.kernels); err != nil {
			return err
		}
		switch {
		case r.scale:
			var b []byte
			if b, err = p.bytes(r.g.red); err == nil {
				each := r.bytesTimes(scales[0])
				for k := range b {
					r.out.w[ch*r.g.red+k] = each[b[k]]
				}
			}
		case r.skip:
			err = r.skipping(p, ch*r.g.kernels, r.g.kernels, 1)
		case r.bits > 0:
			err = r.indexed(p, ch, 1)
		case r.g.paired:
			err = r.pairs(p, ch)
		default:
			err = r.plane1(p, ch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// plane1 reads the taps of one channel.
func (r *reader[T, R]) plane1(p *part[T], ch int) error {
	row := r.out.w[ch*r.g.red:][:r.g.red]
	if r.octet {
		b, err := p.bytes(len(row))
		for k := range b {
			row[k] = r.wide[port.Narrow(float32(int8(b[k])))]
		}
		return err
	}
	at, err := p.take(2 * len(row))
	if err != nil {
		return err
	}
	r.x.num.readFP16(row, p.place, at, 2, true)
	return nil
}

// pairs reads the taps of a channel that the even and the odd column of a pair apply to one input column: the input
// columns of even position first, then columns of odd position. Each tap is stored twice, and so is the bias.
func (r *reader[T, R]) pairs(p *part[T], ch int) error {
	if r.bias {
		b, err := p.bytes(2)
		if err != nil {
			return err
		}
		first, second := binary.LittleEndian.Uint16(p.buf[p.pos-4:]), binary.LittleEndian.Uint16(b)
		if first != second {
			return badAt(p.name(), p.base+int64(p.pos-2), "biases of a pair of columns differ: %#04x and %#04x", first,
				second)
		}
	}
	n := r.g.red
	row := r.out.w[ch*n:][:n]
	b, err := p.bytes(4 * (n + 1))
	if err != nil {
		return err
	}
	at := 0
	for parity := range 2 {
		for i := parity; i <= n; i += 2 {
			even, odd := binary.LittleEndian.Uint16(b[4*at:]), binary.LittleEndian.Uint16(b[4*at+2:])
			at++
			if i == n && even != 0 || i == 0 && odd != 0 {
				return badAt(p.name(), p.base+int64(p.pos), "a pair of columns has a tap outside its %d", n)
			}
			if i < n {
				row[i] = r.wide[even]
			}
			if i > 0 && i < n+1 {
				first := binary.LittleEndian.Uint16(b[4*pairSlot(i-1, n):])
				if first != odd {
					return badAt(p.name(), p.base+int64(p.pos), "tap %d of a pair's columns differs: %#04x and %#04x",
						i-1, first, odd)
				}
			}
		}
	}
	return nil
}

// pairSlot returns the slot of input column i of a paired channel of n taps.
func pairSlot(i, n int) int {
	if i%2 == 0 {
		return i / 2
	}
	return (n+1)/2 + i/2
}
