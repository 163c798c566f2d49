package memlimit

import (
	"context"
	"sync"
)

// shares is the memory of the jobs that run at a time.
var shares struct {
	mu    sync.Mutex
	bytes int64         // of all shares that are taken
	jobs  int           // how many are taken
	freed chan struct{} // closed when one is given back
}

// Share waits until n bytes fit the limit beside the shares of other jobs, or until there are none, and returns a
// function that gives the share back. Jobs that run at the same time take shares: each of them may pass Room before the
// others have allocated what Room allowed them.
func Share(ctx context.Context, n int64) (giveBack func(), err error) {
	n = min(max(n, 0), Bytes())
	for {
		freed := take(n)
		if freed == nil {
			return func() { give(n) }, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take takes a share, or returns a channel that is closed when it may fit.
func take(n int64) (freed chan struct{}) {
	shares.mu.Lock()
	defer shares.mu.Unlock()
	if shares.jobs > 0 && n > Bytes()-shares.bytes {
		if shares.freed == nil {
			shares.freed = make(chan struct{})
		}
		return shares.freed
	}
	shares.bytes += n
	shares.jobs++
	return nil
}

func give(n int64) {
	shares.mu.Lock()
	defer shares.mu.Unlock()
	shares.bytes -= n
	shares.jobs--
	if shares.freed != nil {
		close(shares.freed)
		shares.freed = nil
	}
}
