package explore

import (
	"container/list"
	"context"
	"sync"
)

// cache keeps views by key, those used last, and makes each once however many ask
// for it at a time. A view that is let go while requests use it lives as long as
// they do.
type cache struct {
	most  int
	bytes int64

	mu      sync.Mutex
	entries map[string]*entry
	order   *list.List // of *entry that are made, those used last in front
	held    int64
	closed  bool
	idle    sync.WaitGroup // makers that go on
}

type entry struct {
	key    string
	done   chan struct{} // closed when view or err is set
	cancel context.CancelFunc
	view   *view
	err    error
	refs   int // requests that wait for it or use it
	place  *list.Element
	gone   bool // no longer in entries
}

func newCache(most int, bytes int64) *cache {
	return &cache{most: most, bytes: bytes, entries: map[string]*entry{}, order: list.New()}
}

// get returns the view of a key, which make makes where it is not there. A maker
// goes on while anyone waits for it. release ends the view's use.
func (c *cache) get(ctx context.Context, key string, make func(ctx context.Context) (*view, error)) (v *view, release func(), err error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, nil, context.Canceled
	}
	e := c.entries[key]
	if e == nil {
		if make == nil {
			c.mu.Unlock()
			return nil, nil, errNoView
		}
		run, cancel := context.WithCancel(context.WithoutCancel(ctx))
		e = &entry{key: key, done: newDone(), cancel: cancel}
		c.entries[key] = e
		c.idle.Add(1)
		go func() {
			defer c.idle.Done()
			defer cancel()
			v, err := make(run)
			c.made(e, v, err)
		}()
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
		return nil, nil, ctx.Err()
	}
	if e.err != nil {
		err := e.err
		c.release(e)
		return nil, nil, err
	}
	return e.view, func() { c.release(e) }, nil
}

func newDone() chan struct{} { return make(chan struct{}) }

// made takes what a maker made. Errors are not kept: they are of the moment.
func (c *cache) made(e *entry, v *view, err error) {
	c.mu.Lock()
	e.view, e.err = v, err
	if err != nil || e.gone || c.closed {
		c.drop(e)
	} else {
		e.place = c.order.PushFront(e)
		c.held += v.size
		c.trim()
	}
	close(e.done)
	free := e.gone && e.refs == 0 && e.view != nil
	c.mu.Unlock()
	if free {
		v.close()
	}
}

// trim lets go of what was used longest ago, but never of the last one.
func (c *cache) trim() {
	for c.order.Len() > 1 && (c.order.Len() > c.most || c.held > c.bytes) {
		e := c.order.Back().Value.(*entry)
		c.drop(e)
		if e.refs == 0 {
			e.view.close()
		}
	}
}

// drop forgets an entry.
func (c *cache) drop(e *entry) {
	if e.gone {
		return
	}
	e.gone = true
	delete(c.entries, e.key)
	if e.place != nil {
		c.order.Remove(e.place)
		e.place = nil
		c.held -= e.view.size
	}
}

func (c *cache) release(e *entry) {
	c.mu.Lock()
	e.refs--
	var free *view
	select {
	case <-e.done:
		if e.refs == 0 && e.gone {
			free = e.view
		}
	default:
		if e.refs == 0 { // nobody waits for it any more
			c.drop(e)
			e.cancel()
		}
	}
	c.mu.Unlock()
	if free != nil {
		free.close()
	}
}

// close lets go of everything and waits for the makers.
func (c *cache) close() {
	c.mu.Lock()
	c.closed = true
	for _, e := range c.entries {
		if e.place == nil {
			c.drop(e)
			e.cancel()
		}
	}
	for c.order.Len() > 0 {
		e := c.order.Back().Value.(*entry)
		c.drop(e)
		if e.refs == 0 {
			e.view.close()
		}
	}
	c.mu.Unlock()
	c.idle.Wait()
}
