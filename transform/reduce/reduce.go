package reduce

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/zinc-compiler/zinc/ir"
)

// Options configure a reduction.
type Options struct {
	Interesting Interesting
	Timeout     time.Duration // of one run of the predicate; a candidate that meets it is not interesting; 0 for none
	Jobs        int           // candidates tried at a time, 0 for one a processor
	MaxRuns     int           // of the predicate, 0 for no limit
	// names of the passes to run, in the table's order; nil for all, empty to try the program alone
	Passes  []string
	TempDir string // folder for the candidates' files, "" for the system's
	// Best, if not nil, is called with the best program so far after every pass that made it smaller, so that a killed
	// search keeps its progress. The program belongs to the caller.
	Best func(p *ir.Program)
	// Progress is called after every run that counted and every pass, from one
	// goroutine at a time. Nil for none.
	Progress func(Progress)
}

// Progress says how far a reduction has come.
type Progress struct {
	Round      int // from 1; 0 while the program itself is tried
	Pass       string
	Runs       int // of the predicate
	Statements int // of the best program so far
}

// Why a reduction ended.
const (
	Done        = ""            // no pass finds anything more
	MaxRuns     = "max-runs"    // Options.MaxRuns were made
	Interrupted = "interrupted" // the context ended
)

// Step is what one pass did in one round.
type Step struct {
	Round      int    `json:"round"`      // round, from 1
	Pass       string `json:"pass"`       // name of the pass
	Runs       int    `json:"runs"`       // runs of the predicate
	Cached     int    `json:"cached"`     // candidates whose answer was known
	Taken      int    `json:"taken"`      // edits that stayed
	Statements int    `json:"statements"` // statements that are left
}

// Result is a reduction.
type Result struct {
	Program    *ir.Program `json:"-"`
	Runs       int         `json:"runs"`              // of the predicate, as they count
	Cached     int         `json:"cached"`            // candidates whose answer was known
	Invalid    int         `json:"invalid"`           // edits that gave no valid program
	TimedOut   int         `json:"timed_out"`         // runs of the predicate that were ended for their time
	Before     int         `json:"statements_before"` // statements of the model before the reduction
	Statements int         `json:"statements"`        // statements that are left
	Stopped    string      `json:"stopped,omitempty"` // why the reduction ended early
	Steps      []Step      `json:"steps"`             // what each pass did, in order
}

// ErrNotInteresting reports that the predicate does not hold for the original program.
var ErrNotInteresting = errors.New("the model itself is not interesting: the predicate does not hold for it, " +
	"so there is nothing to reduce")

// maxRounds bounds the rounds of passes. Every edit that stays makes the program
// smaller, so it is a guard alone.
const maxRounds = 20

// reducer is the state of one reduction.
type reducer struct {
	*tester
	o       Options
	cur     *Candidate
	res     *Result
	round   int
	pass    string
	step    *Step
	invalid int
}

// errStop ends the passes; res.Stopped says why.
var errStop = errors.New("stopped")

// Run reduces p, which it does not change. When the context ends or a limit is
// met, the result is the best so far and Stopped says so; an error of the
// predicate comes with the best so far. ErrNotInteresting comes with no result.
func Run(ctx context.Context, p *ir.Program, o Options) (*Result, error) {
	if o.Interesting == nil {
		return nil, errors.New("reduce: the predicate is nil")
	}
	list, err := chosen(o.Passes)
	if err != nil {
		return nil, err
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	dir, err := os.MkdirTemp(o.TempDir, "zinc-reduce-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	r := &reducer{o: o, tester: newTester(ctx, o, dir)}
	defer r.tester.close()
	first := ir.CloneProgram(p)
	if err := ir.Verify(first); err != nil {
		return nil, fmt.Errorf("the program is not valid: %w", err)
	}
	if r.cur, err = r.candidate(first); err != nil {
		return nil, fmt.Errorf("the program cannot be written as text: %w", err)
	}
	r.res = &Result{Before: r.cur.text.Statements}
	r.step = &Step{}
	yes, err := r.test(r.cur)
	if errors.Is(err, errStop) { // before there was an answer
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if !yes {
		if r.timedOut > 0 {
			return nil, fmt.Errorf("%w (it did not end within the time limit of %s)", ErrNotInteresting, o.Timeout)
		}
		return nil, ErrNotInteresting
	}
	err = r.rounds(list)
	if errors.Is(err, errStop) {
		r.res.Stopped, err = MaxRuns, nil
		if ctx.Err() != nil {
			r.res.Stopped = Interrupted
		}
	}
	r.res.Program, r.res.Statements = ir.CloneProgram(r.cur.prog), r.cur.text.Statements
	r.res.Runs, r.res.Cached, r.res.TimedOut, r.res.Invalid = r.runs, r.cached, r.timedOut, r.invalid
	return r.res, err
}

func (r *reducer) rounds(list []*Pass) error {
	for r.round = 1; r.round <= maxRounds; r.round++ {
		taken := 0
		for _, p := range list {
			r.pass = p.Name
			r.res.Steps = append(r.res.Steps, Step{Round: r.round, Pass: p.Name})
			r.step = &r.res.Steps[len(r.res.Steps)-1]
			runs, cached := r.runs, r.cached
			err := p.run(r)
			r.step.Runs, r.step.Cached, r.step.Statements = r.runs-runs, r.cached-cached, r.cur.text.Statements
			if err != nil {
				return err
			}
			if r.step.Taken > 0 && r.o.Best != nil {
				r.o.Best(ir.CloneProgram(r.cur.prog))
			}
			taken += r.step.Taken
		}
		if taken == 0 {
			return nil
		}
	}
	return nil
}

// An edit changes a program of its own in place and returns the values whose
// type or constant it has changed. It returns false when there is nothing to do.
type edit func(p *ir.Program) (changed map[*ir.Value]bool, ok bool)

// edited returns the current program with an edit applied, nil when that gives
// no valid program or the same one.
func (r *reducer) edited(e edit) *Candidate {
	return r.editedFrom(r.cur, e)
}

// editedFrom does the same with another program than the current one.
func (r *reducer) editedFrom(from *Candidate, e edit) *Candidate {
	p := ir.CloneProgram(from.prog)
	changed, ok := e(p)
	if !ok {
		return nil
	}
	if changed == nil {
		changed = map[*ir.Value]bool{}
	}
	if legalise(p, changed) != nil {
		r.invalid++
		return nil
	}
	c, err := r.candidate(p)
	if err != nil || c.key == r.cur.key {
		return nil
	}
	return c
}

// take makes an interesting candidate the current one.
func (r *reducer) take(c *Candidate) {
	r.cur = c
	r.step.Taken++
}

// test asks the predicate, or the cache, about a candidate.
func (r *reducer) test(c *Candidate) (bool, error) {
	before := r.runs
	yes, err := r.ask(c)
	if r.o.Progress != nil && r.runs > before {
		n := c.text.Statements
		if r.cur != nil && !yes {
			n = r.cur.text.Statements
		}
		r.o.Progress(Progress{Round: r.round, Pass: r.pass, Runs: r.runs, Statements: n})
	}
	return yes, err
}

// try tests an edit of the current program and keeps it when it is interesting.
func (r *reducer) try(e edit) (bool, error) {
	c := r.edited(e)
	if c == nil {
		return false, nil
	}
	yes, err := r.test(c)
	if yes && err == nil {
		r.take(c)
	}
	return yes, err
}

// lookahead bounds the candidates that are kept ready, for each job: those that
// need no run fill no job.
const lookahead = 4

// first tries edits in order, others ahead of their turn, and keeps the first
// interesting one. It returns its index, -1 for none.
func (r *reducer) first(n int, at func(i int) edit) (int, error) {
	made := map[int]*Candidate{}
	get := func(i int) *Candidate {
		c, ok := made[i]
		if !ok {
			c = r.edited(at(i))
			made[i] = c
		}
		return c
	}
	defer r.forget()
	ahead := 0 // candidates below have been handed to the workers
	for i := range n {
		c := get(i)
		if c == nil {
			delete(made, i)
			continue
		}
		for ahead = max(ahead, i); ahead < min(n, i+lookahead*r.o.Jobs) && r.idle(); ahead++ {
			r.prefetch(get(ahead))
		}
		yes, err := r.test(c)
		if err != nil {
			return -1, err
		}
		if yes {
			r.take(c)
			return i, nil
		}
		delete(made, i)
	}
	return -1, nil
}

// each tries every edit of a list that changes as edits stay: count says how long
// it is now. After an edit that stayed the next one is tried in its place.
func (r *reducer) each(count func() int, at func(i int) edit) error {
	for i := 0; ; {
		n := count()
		if i >= n {
			return nil
		}
		k, err := r.first(n-i, func(j int) edit { return at(i + j) })
		if err != nil || k < 0 {
			return err
		}
		i += k
	}
}

// bisect looks for the least k in (lo, hi] whose edit of the current program is
// interesting, and keeps it. The current program represents hi. Where being
// interesting does not grow with k, what is found is interesting all the same.
func (r *reducer) bisect(lo, hi int, at func(k int) edit) error {
	base := r.cur
	made := map[int]*Candidate{}
	get := func(k int) *Candidate {
		c, ok := made[k]
		if !ok && k > lo && k < hi {
			c = r.editedFrom(base, at(k))
			made[k] = c
		}
		return c
	}
	defer r.forget()
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		c, below, above := get(mid), get(lo+(mid-lo)/2), get(mid+(hi-mid)/2)
		r.forget(c, below, above)
		for _, x := range []*Candidate{c, below, above} {
			r.prefetch(x)
		}
		yes := false
		if c != nil {
			var err error
			if yes, err = r.test(c); err != nil {
				return err
			}
		}
		if yes {
			r.take(c)
			hi = mid
		} else {
			lo = mid
		}
	}
	return nil
}

// chosen returns the passes of the given names, all for none.
func chosen(names []string) ([]*Pass, error) {
	var out []*Pass
	for i := range Passes {
		if names == nil || slices.Contains(names, Passes[i].Name) {
			out = append(out, &Passes[i])
		}
	}
	for _, n := range names {
		if !slices.ContainsFunc(Passes, func(p Pass) bool { return p.Name == n }) {
			return nil, fmt.Errorf("unknown pass %q; want one of %v", n, PassNames())
		}
	}
	return out, nil
}
