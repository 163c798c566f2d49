package e5rt

import (
	"slices"
	"sync"
)

// fifoLock is a mutex that is granted in the order of joining.
type fifoLock struct {
	mu    sync.Mutex
	busy  bool
	queue []chan struct{}
}

// join takes a place. It returns nil if the lock was free, or a channel that is closed when the lock is granted.
func (l *fifoLock) join() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.busy {
		l.busy = true
		return nil
	}
	c := make(chan struct{})
	l.queue = append(l.queue, c)
	return c
}

// leave hands the lock to the oldest in the queue.
func (l *fifoLock) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.busy = false
		return
	}
	close(l.queue[0])
	l.queue = slices.Delete(l.queue, 0, 1)
}

// quit gives up a place in the queue, or the lock if it was granted meanwhile.
func (l *fifoLock) quit(c chan struct{}) {
	l.mu.Lock()
	i := slices.Index(l.queue, c)
	if i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
	}
	l.mu.Unlock()
	if i < 0 {
		l.leave()
	}
}
