package reduce

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/internal/mapfault"
	"github.com/zinc-compiler/zinc/ir"
)

// tester answers whether candidates are interesting, each one once, some ahead of
// their turn. All of it but the runs belongs to one goroutine.
type tester struct {
	ctx    context.Context
	o      Options
	dir    string
	hash   hasher
	known  map[key]*verdict
	going  map[key]*run
	number int

	runs, cached, timedOut int
}

// verdict is the answer to one candidate.
type verdict struct {
	yes  bool
	late bool // the time limit was met
	err  error
}

// run is a predicate at work.
type run struct {
	cancel context.CancelFunc
	done   chan struct{}
	verdict
}

func newTester(ctx context.Context, o Options, dir string) *tester {
	return &tester{
		ctx: ctx, o: o, dir: dir, hash: hasher{digest: map[*ir.Const][sha256.Size]byte{}},
		known: map[key]*verdict{}, going: map[key]*run{},
	}
}

// candidate makes a candidate of a program.
func (t *tester) candidate(p *ir.Program) (*Candidate, error) {
	text, err := unbuild.Program(p, defaultWeights)
	if err != nil {
		return nil, err
	}
	return &Candidate{prog: p, text: text, key: t.hash.key(text), dir: t.dir}, nil
}

// idle reports whether a candidate could be tried ahead of its turn.
func (t *tester) idle() bool {
	return len(t.going) < t.o.Jobs && (t.o.MaxRuns <= 0 || t.runs+len(t.going) < t.o.MaxRuns)
}

// prefetch begins with a candidate whose turn has not come.
func (t *tester) prefetch(c *Candidate) {
	if c == nil || !t.idle() || t.known[c.key] != nil || t.going[c.key] != nil {
		return
	}
	t.start(c)
}

func (t *tester) start(c *Candidate) *run {
	t.number++
	// The same program may have been made twice; files belong to one run.
	own := &Candidate{Number: t.number, prog: c.prog, text: c.text, key: c.key, dir: c.dir}
	var ctx context.Context
	var cancel context.CancelFunc
	if t.o.Timeout > 0 {
		ctx, cancel = context.WithTimeout(t.ctx, t.o.Timeout)
	} else {
		ctx, cancel = context.WithCancel(t.ctx)
	}
	x := &run{cancel: cancel, done: make(chan struct{})}
	t.going[c.key] = x
	go func() {
		defer close(x.done)
		defer cancel()
		defer own.remove()
		defer func() {
			if p := recover(); p != nil {
				x.yes, x.err = false, fmt.Errorf("the predicate panicked: %v", p)
			}
		}()
		x.err = mapfault.Guard(func() (err error) { x.yes, err = t.o.Interesting(ctx, own); return err })
		if ctx.Err() != nil && t.ctx.Err() == nil {
			x.late = errors.Is(ctx.Err(), context.DeadlineExceeded)
			x.yes, x.err = false, nil
		}
	}()
	return x
}

// ask returns the answer for a candidate, from the cache, from a run begun ahead,
// or from one of its own. The first time a candidate's turn comes it counts as a
// run, whenever that was made.
func (t *tester) ask(c *Candidate) (bool, error) {
	if t.ctx.Err() != nil {
		return false, errStop
	}
	v := t.known[c.key]
	if v != nil {
		t.cached++
		return v.yes, v.err
	}
	if t.o.MaxRuns > 0 && t.runs >= t.o.MaxRuns {
		return false, errStop
	}
	x := t.going[c.key]
	if x == nil {
		x = t.start(c)
	}
	<-x.done
	delete(t.going, c.key)
	if t.ctx.Err() != nil {
		return false, errStop
	}
	t.runs++
	v = &x.verdict
	if v.late {
		t.timedOut++
	}
	t.known[c.key] = v
	return v.yes, v.err
}

// forget ends the runs whose answer is not needed any more: all but the ones in the candidates.
func (t *tester) forget(but ...*Candidate) {
	for k, x := range t.going {
		if slices.ContainsFunc(but, func(c *Candidate) bool { return c != nil && c.key == k }) {
			continue
		}
		x.cancel()
		<-x.done
		delete(t.going, k)
	}
}

func (t *tester) close() { t.forget() }
