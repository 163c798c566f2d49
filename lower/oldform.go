package lower

import "github.com/zinc-compiler/zinc/target"

import "github.com/zinc-compiler/zinc/lower/td"

// oldResultPad is the padding of a row of a product's result in L2 whose rows
// would start on one bank; others have none (64 granules; conv and conv3 with 3).
func oldResultPad(t *target.Table) int64 { return 2 * t.L2Granule }

// throughL2 lets the result of a product that leaves by DMA stand in L2 from at on
// before it leaves, as the older form does: elements, then channels, then depth,
// then rows, as sources stand. Results of other work leave as they come (relu,
// sigmoid, sum), and one that is put together in L2 anyway stays so. A tile that L2
// has no room for leaves as it comes (modelled).
func (c *schedule) throughL2(d *draft, at int64) {
	o := &d.dst
	if !d.does(td.NEMultiply) || o.swap || d.gather {
		return
	}
	ch := align(min(o.ext[axW]*d.window.ox, c.t.WorkUnit)*elemBytes, c.t.L2Granule)
	depth := ch * o.ext[axC]
	whole := depth * max(o.ext[axD], 1)
	row := whole
	if ch <= 4*c.t.L2Granule && whole/c.t.L2Granule%c.t.L2Banks == 0 {
		row += oldResultPad(c.t)
	}
	if at+row*max(d.tile, 1) > c.t.L2Bytes {
		return
	}
	d.gather, o.l2 = true, l2Place{at, [4]int64{whole, depth, ch, row}}
}

// oldForm sets what the compilers that wrote full tasks decided otherwise than
// current ones: the unit shifts of a pass that does not multiply, whose work unit is two
// rows high at least, and always where a row is at most half a unit (relu and
// sigmoid with rows of 77; rows of 16 and 1). Products keep theirs; of these only
// results of one pixel are recorded, with shift 4. Single fields are in td.Codec.Complete, the place of a
// result in L2 is throughL2's, the numbers of the ports are portRegisters'.
func (c *schedule) oldForm() {
	if !c.codec.Older {
		return
	}
	for _, d := range c.drafts {
		if d.ne == nil || d.ne.op == td.NEMultiply {
			continue
		}
		s := max(d.shift.max, 1)
		d.shift.max, d.shift.pref = s, s
		if d.dst.ext[axW] <= c.t.WorkUnit/2 {
			d.shift.min = max(d.shift.min, 1)
		}
	}
}
