package explore

import (
	"container/list"
	"context"
	"sync"

	"github.com/zinc-compiler/zinc/internal/mapfault"
)

// kept is a value that a cache can hold.
type kept interface {
	weight() int64 // bytes, about
	close() error
}

// cache is an LRU cache that computes each value once for concurrent requests. A value that is evicted while requests
// use it lives until they release it.
type cache[T kept] struct {
	most  int
	bytes int64

	mu      sync.Mutex
	entries map[string]*entry[T]
	order   *list.List // of finished *entry[T], most recently used first
	held    int64
	closed  bool
	idle    sync.WaitGroup // running makers
}

type entry[T kept] struct {
	key    string
	done   chan struct{} // closed when value or err is set
	cancel context.CancelFunc
	value  T
	made   bool // value is set
	err    error
	refs   int // requests that wait for it or use it
	place  *list.Element
	gone   bool // no longer in entries
}

func newCache[T kept](most int, bytes int64) *cache[T] {
	return &cache[T]{most: most, bytes: bytes, entries: map[string]*entry[T]{}, order: list.New()}
}

// get returns the value of a key and calls make if there is none. A maker continues while anyone waits for it. release
// ends the use of the value.
func (c *cache[T]) get(ctx context.Context, key string, make func(ctx context.Context) (T, error)) (v T, release func(),
	err error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return v, nil, context.Canceled
	}
	e := c.entries[key]
	if e == nil {
		if make == nil {
			c.mu.Unlock()
			return v, nil, errNoView
		}
		run, cancel := context.WithCancel(context.WithoutCancel(ctx))
		e = &entry[T]{key: key, done: newDone(), cancel: cancel}
		c.entries[key] = e
		c.idle.Go(func() {
			defer cancel()
			var v T
			err := mapfault.Guard(func() (err error) { v, err = make(run); return err })
			c.made(e, v, err)
		})
	}
	e.refs++
	if e.place != nil {
		c.order.MoveToFront(e.place)
	}
	c.mu.Unlock()
	select {
	case <-e.done:
	case <-ctx.Done():
		c.release(e)
		return v, nil, ctx.Err()
	}
	if e.err != nil {
		err := e.err
		c.release(e)
		return v, nil, err
	}
	return e.value, func() { c.release(e) }, nil
}

func newDone() chan struct{} { return make(chan struct{}) }

// made stores the result of a maker. Errors are not cached, since they may be temporary.
func (c *cache[T]) made(e *entry[T], v T, err error) {
	c.mu.Lock()
	e.value, e.made, e.err = v, err == nil, err
	if err != nil || e.gone || c.closed {
		c.drop(e)
	} else {
		e.place = c.order.PushFront(e)
		c.held += v.weight()
		c.trim()
	}
	close(e.done)
	free := e.gone && e.refs == 0 && e.made
	c.mu.Unlock()
	if free {
		v.close()
	}
}

// trim evicts the least recently used values, but never the only one.
func (c *cache[T]) trim() {
	for c.order.Len() > 1 && (c.order.Len() > c.most || c.held > c.bytes) {
		e := c.order.Back().Value.(*entry[T])
		c.drop(e)
		if e.refs == 0 {
			e.value.close()
		}
	}
}

// drop removes an entry.
func (c *cache[T]) drop(e *entry[T]) {
	if e.gone {
		return
	}
	e.gone = true
	delete(c.entries, e.key)
	if e.place != nil {
		c.order.Remove(e.place)
		e.place = nil
		c.held -= e.value.weight()
	}
}

func (c *cache[T]) release(e *entry[T]) {
	c.mu.Lock()
	e.refs--
	free := false
	select {
	case <-e.done:
		free = e.refs == 0 && e.gone && e.made
	default:
		if e.refs == 0 { // nobody waits for it
			c.drop(e)
			e.cancel()
		}
	}
	c.mu.Unlock()
	if free {
		e.value.close()
	}
}

// close evicts everything and waits for the makers.
func (c *cache[T]) close() {
	c.mu.Lock()
	c.closed = true
	for _, e := range c.entries {
		if e.place == nil {
			c.drop(e)
			e.cancel()
		}
	}
	for c.order.Len() > 0 {
		e := c.order.Back().Value.(*entry[T])
		c.drop(e)
		if e.refs == 0 {
			e.value.close()
		}
	}
	c.mu.Unlock()
	c.idle.Wait()
}
