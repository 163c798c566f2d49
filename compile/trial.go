package compile

import (
	"crypto/sha256"
	"sync"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/passes"
)

// maxKnownOps limits the operations of a function whose segments are remembered: each of its placements takes memory.
const maxKnownOps = 1 << 14

// segments remembers what segments of the placements of a function were lowered to for an estimate. Placements have
// many in common, and those of the one that is chosen were lowered when it was tried.
type segments struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]*knownSegment
}

// knownSegment is a lowered segment.
type knownSegment struct {
	seg      *lower.Segment
	proc     *lower.Procedure
	sec      *weights.Section // which has its constants
	assessed []*assessment
	bytes    int64 // of its tasks
}

// segments returns an empty memory for the segments of a function, or nil for one that needs none.
func (d *driver) segments(f *ir.Func) *segments {
	if d.to == places || len(f.Body.Ops) > maxKnownOps {
		return nil
	}
	return &segments{known: map[[sha256.Size]byte]*knownSegment{}}
}

// empty reports whether k, which may be nil, has no segments.
func (k *segments) empty() bool { return k == nil || len(k.known) == 0 }

// forget releases the segments of k, which may be nil. The options of the passes keep k as long as the state exists.
func (k *segments) forget() {
	if k != nil {
		clear(k.known)
	}
}

// procedure lowers a segment, unless an equal one is known and nobody wants its tasks.
func (d *driver) procedure(u *unit, seg *lower.Segment) (*lower.Procedure, error) {
	if u.known == nil || d.to != tasks {
		return lower.Lower(seg, d.o.Target, &d.sec)
	}
	k, digest := u.known, seg.Digest()
	k.mu.Lock()
	x := k.known[digest]
	k.mu.Unlock()
	last := len(u.assessed) - 1
	if x != nil {
		u.assessed[last] = x.assessed
		u.rep.TaskBytes += x.bytes
		return x.proc.Again(seg, x.seg, &d.sec, x.sec)
	}
	before := u.rep.TaskBytes
	p, err := lower.Lower(seg, d.o.Target, &d.sec)
	if err != nil || p.Exceeds != nil {
		return p, err
	}
	k.mu.Lock()
	k.known[digest] = &knownSegment{
		seg: seg, proc: p, sec: &d.sec, assessed: u.assessed[last], bytes: u.rep.TaskBytes - before,
	}
	k.mu.Unlock()
	return p, nil
}

// callTime returns what estimates calls for passes.Options, or nil without a codec for the target.
func (d *driver) callTime(known *segments) func(s *passes.State) (*passes.CallTime, error) {
	if d.codec == nil {
		return nil
	}
	return func(s *passes.State) (*passes.CallTime, error) {
		t := &driver{
			ctx:   d.ctx,
			o:     Options{Target: d.o.Target, FullTD: d.o.FullTD},
			to:    tasks,
			codec: d.codec,
			names: map[string]int{},
		}
		t.sec.Workers, t.sec.Endless = d.o.Workers, true
		t.sec.Track()
		u := t.unit(s.Func.Name, s)
		u.rep.Estimate, u.known = new(Estimate), known
		t.units = []*unit{u}
		if err := t.lower(); err != nil {
			return nil, err
		}
		desc, err := t.descriptor()
		if err != nil {
			return nil, err
		}
		ops := map[*ir.Op]int64{}
		for k, p := range u.procs {
			for i, info := range p.Infos {
				c := &u.assessed[k][i].cost
				ops[info.Op] += int64(c.Time)
				u.rep.Estimate.Terms[c.Bound] += c.Time
			}
		}
		for _, op := range s.Func.Body.Ops {
			u.rep.count(op)
		}
		for _, c := range desc.Functions[0].Chains() {
			for k := range c.Inferences {
				u.rep.Estimate.Terms.Add(dispatchTime(&c, k, d.o.Target))
			}
		}
		return &passes.CallTime{Total: int64(u.rep.CallTime()), Ops: ops, Exceeds: t.exceeds != nil}, nil
	}
}
