package engine

import (
	"context"
	"sync"
	"sync/atomic"
)

// run is the state of the execution of one task.
type run struct {
	ctx     context.Context
	workers int
}

// grain returns how many items of the given size are enough work for a worker.
func grain(size int) int { return max(1, 1<<14/max(1, size)) }

// each calls f on pieces [lo, hi) of 0..n, from several goroutines. The pieces
// do not depend on the number of workers. It stops between pieces when the
// context ends.
func (r *run) each(n, grain int, f func(lo, hi int)) error {
	pieces := (n + grain - 1) / grain
	workers := min(r.workers, pieces)
	if workers <= 1 {
		return r.serial(n, grain, f)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for r.ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= pieces {
					return
				}
				f(i*grain, min(n, (i+1)*grain))
			}
		})
	}
	wg.Wait()
	return r.ctx.Err()
}

// serial is each on the calling goroutine, in order.
func (r *run) serial(n, grain int, f func(lo, hi int)) error {
	for lo := 0; lo < n; lo += grain {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		f(lo, min(n, lo+grain))
	}
	return r.ctx.Err()
}
