package lower

import "github.com/zinc-compiler/zinc/lower/td"

// liveGranules is the number of parts of L2 that td.LiveOuts has bits for.
const liveGranules = 32

// life is the part of L2 that a buffer takes, from the task that writes or keeps it to the last one that reads it.
type life struct {
	from, to int
	granules uint32
}

// liveOuts marks in each task, but the last, the parts of L2 with something that it reads there or that a later task
// does: results, and sources that stay after they came by DMA (160 of 163 tasks of recorded programs of h14).
func (c *schedule) liveOuts() {
	if !c.codec.Has(td.LiveOuts) {
		return
	}
	part := c.t.L2Bytes / liveGranules
	granules := func(s span) (bits uint32) {
		for at := s.lo / part; at*part <= s.hi && at < liveGranules; at++ {
			bits |= 1 << at
		}
		return bits
	}
	var lives []*life
	now := map[*buffer]*life{}
	begin := func(b *buffer, task int) *life {
		l := &life{from: task, to: task}
		now[b], lives = l, append(lives, l)
		return l
	}
	for i, d := range c.drafts {
		f := d.footprint()
		for k := range d.src {
			o := &d.src[k]
			switch {
			case k == 1 && !d.two:
			case o.where != byDMA:
				l := now[o.buf]
				if l == nil {
					l = begin(o.buf, i)
				}
				l.to, l.granules = i, l.granules|granules(f.read[k])
				if i+1 < len(c.drafts) && c.drafts[i+1].deps.overlap != 0 && !c.drafts[i+1].exchanges(d) {
					l.to = i + 1 // which runs while this task reads
				}
			case k == 0 && d.keeps:
				begin(o.buf, i).granules = granules(f.fetch[k])
			}
		}
		if o := &d.dst; o.where != byDMA {
			l := now[o.buf]
			if l == nil {
				l = begin(o.buf, i)
				if d.deps.overlap != 0 && (d.pe != nil) != (c.drafts[i-1].pe != nil) {
					l.from = i - 1 // which still runs on the other engine (softmax of rows of 256x256 on h14)
				}
			}
			l.granules |= granules(f.give)
		}
	}
	// By granule, how many lives begin and end with each task.
	change := make([][liveGranules]int32, len(c.drafts)+1)
	for _, l := range lives {
		for g := range liveGranules {
			if l.to > l.from && l.granules>>g&1 == 1 {
				change[l.from][g]++
				change[l.to+1][g]--
			}
		}
	}
	var alive [liveGranules]int32
	for i, d := range c.drafts {
		for g := range alive {
			if alive[g] += change[i][g]; alive[g] > 0 && !d.last {
				d.live |= 1 << g
			}
		}
	}
}
