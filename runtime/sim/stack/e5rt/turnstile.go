package e5rt

import (
	"slices"
	"sync"
)

// turnstile admits one goroutine at a time, in the order of joining.
type turnstile struct {
	mu    sync.Mutex
	busy  bool
	queue []chan struct{}
}

// join takes a place. It returns nil when the turn has come, or a channel that is
// closed when it comes.
func (t *turnstile) join() chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.busy {
		t.busy = true
		return nil
	}
	c := make(chan struct{})
	t.queue = append(t.queue, c)
	return c
}

// leave ends a turn.
func (t *turnstile) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		t.busy = false
		return
	}
	close(t.queue[0])
	t.queue = slices.Delete(t.queue, 0, 1)
}

// quit gives up a place, or the turn if it has come in the meantime.
func (t *turnstile) quit(c chan struct{}) {
	t.mu.Lock()
	i := slices.Index(t.queue, c)
	if i >= 0 {
		t.queue = slices.Delete(t.queue, i, i+1)
	}
	t.mu.Unlock()
	if i < 0 {
		t.leave()
	}
}
