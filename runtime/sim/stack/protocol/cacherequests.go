package protocol

import (
	"fmt"
	"slices"
	"sync"
)

// CacheState is the state of a cache request.
type CacheState uint8

// The three states (chapter 29); the numbers are modelled.
const (
	CacheAvailable    CacheState = iota // in the pool
	CacheInUse                          // ANE_DATA_CHAINING_CACHE_REQUEST_IN_USE
	CacheInvalidating                   // torn down once its execution ends
)

// OutputSetState is the state of a request's output set.
type OutputSetState uint8

// The two states (chapter 29).
const (
	OutputAvailable OutputSetState = iota
	OutputInExecution
)

// String names the state.
func (s CacheState) String() string {
	return [...]string{"available", "in use", "invalidating"}[min(s, CacheInvalidating)]
}

// String names the state.
func (s OutputSetState) String() string {
	return [...]string{"available", "in execution"}[min(s, OutputInExecution)]
}

// CacheRequest is the firmware's state of one resident request.
type CacheRequest struct {
	Handler     uint64
	Header      Header // of the install
	Call        ProcedureCall
	State       CacheState
	Output      OutputSetState
	Running     bool   // triggered but not yet completed
	Consumed    int    // buffers of the output set that the host may recycle
	LastTrigger uint64 // lastTriggerExecTimestamp
	Group       uint32 // 0: none
	Active      bool   // the group's active member
	Shared      bool   // counts as an active shared event
}

// CacheRequests is the pool of resident requests, indexed by cacheReqIdx.
type CacheRequests struct {
	mu       sync.Mutex
	slots    []CacheRequest
	gens     []uint32 // generation of each index, to detect stale handles
	free     []int    // CIndexPool
	shared   int      // sharedEventsActiveNbr
	disabled bool
}

// MaxCacheRequests bounds the size of a pool.
const MaxCacheRequests = 1 << 16

// NewCacheRequests returns a pool of max requests: 0 <= cacheReqIdx < max.
func NewCacheRequests(max int) (*CacheRequests, error) {
	if max < 1 || max > MaxCacheRequests {
		return nil, fmt.Errorf("protocol: maxCacheRequest is %d, want 1 to %d", max, MaxCacheRequests)
	}
	c := &CacheRequests{slots: make([]CacheRequest, max), gens: make([]uint32, max)}
	for i := max - 1; i >= 0; i-- {
		c.free = append(c.free, i)
	}
	return c, nil
}

// Free returns the number of free requests in the pool.
func (c *CacheRequests) Free() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.free)
}

// Live returns copies of the requests that are in use or being invalidated, by index.
func (c *CacheRequests) Live() []CacheRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.slots), func(r CacheRequest) bool { return r.State == CacheAvailable })
}

// Install takes a request from the pool and returns its handler.
func (c *CacheRequests) Install(h Header, call *ProcedureCall, shared bool) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.disabled:
		return 0, fmt.Errorf("%w: cache requests are force-disabled", ErrDropped)
	case shared && c.shared+1 >= MaxSharedEvents:
		return 0, of(bad(0, "sharedEventsActiveNbr", c.shared+1, "sharedEventsActiveNbr < 2",
			"invalidate another request with shared events"),
			"CSNE_CMD_PROCEDURE_CALL_CACHE_REQUEST_WITH_SHARED_EVENTS", 0)
	case len(c.free) == 0:
		return 0, fmt.Errorf("%w: cacheReqIdx: all %d cache requests are in use", ErrFull, len(c.slots))
	}
	i := c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	c.gens[i]++
	if shared {
		c.shared++
	}
	handler := uint64(c.gens[i])<<32 | uint64(i+1)
	c.slots[i] = CacheRequest{Handler: handler, Header: h, Call: *call, State: CacheInUse, Shared: shared}
	return handler, nil
}

// find returns the request of a handler. A stale handle is a request that has returned to the pool.
func (c *CacheRequests) find(handler uint64) (*CacheRequest, int) {
	i := int(handler&0xffff_ffff) - 1
	if i < 0 || i >= len(c.slots) || c.slots[i].Handler != handler || c.slots[i].State == CacheAvailable {
		return nil, -1
	}
	return &c.slots[i], i
}

func wrongState(handler uint64, r *CacheRequest, what string) error {
	s := CacheAvailable
	if r != nil {
		s = r.State
	}
	return fmt.Errorf("%w: cacheHandler (%#x) in wrong state (%d) for %s. %s dropped", ErrDropped, handler, s, what,
		what)
}

// Trigger triggers a request and returns a copy. The request must be live and the active one of its group, its output
// set available, and the timestamp greater than the last trigger's.
func (c *CacheRequests) Trigger(t *Trigger) (CacheRequest, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, _ := c.find(t.Handler)
	switch {
	case r == nil || r.State != CacheInUse:
		return CacheRequest{}, wrongState(t.Handler, r, "trigger")
	case r.Group != 0 && !r.Active:
		return CacheRequest{}, fmt.Errorf(
			"%w: cacheHandler (%#x) is not the active request of group %d. trigger dropped", ErrDropped, t.Handler,
			r.Group)
	case t.Timestamp <= r.LastTrigger:
		return CacheRequest{}, of(bad(8, "execTimestamp", t.Timestamp,
			fmt.Sprintf("execTimestamp > pCacheReq->lastTriggerExecTimestamp (%#x)", r.LastTrigger),
			"timestamps must increase"), "CSNE_CMD_PROCEDURE_CALL_TRIGGER_CACHE_REQUEST", HeaderSize)
	case r.Output != OutputAvailable:
		return CacheRequest{}, fmt.Errorf(
			"%w: cacheHandler (%#x): its output set is in execution or not recycled. trigger dropped", ErrDropped,
			t.Handler)
	}
	r.LastTrigger, r.Output, r.Running, r.Consumed = t.Timestamp, OutputInExecution, true, 0
	return *r, nil
}

// Complete ends the execution that a trigger started. The output set stays in use until the host recycles it; a request
// that is being invalidated returns to the pool.
func (c *CacheRequests) Complete(handler uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, i := c.find(handler)
	if r == nil || !r.Running {
		return wrongState(handler, r, "completion")
	}
	r.Running, r.Consumed = false, max(len(r.Call.Outputs), 1)
	if r.State == CacheInvalidating {
		c.put(i)
	}
	return nil
}

// Recycle returns a consumed output buffer to its request, whose output set is then available. Each buffer of the set
// may be recycled once after an execution.
func (c *CacheRequests) Recycle(handler uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, _ := c.find(handler)
	if r == nil || r.State != CacheInUse || r.Running || r.Consumed == 0 {
		return wrongState(handler, r, "recycle")
	}
	r.Output = OutputAvailable
	r.Consumed--
	return nil
}

// Invalidate removes a request, at once or when its execution ends.
func (c *CacheRequests) Invalidate(handler uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, i := c.find(handler)
	if r == nil || r.State != CacheInUse {
		return wrongState(handler, r, "invalidate")
	}
	c.invalidate(i)
	return nil
}

func (c *CacheRequests) invalidate(i int) {
	r := &c.slots[i]
	r.State = CacheInvalidating
	if r.Shared {
		r.Shared = false
		c.shared--
	}
	if !r.Running {
		c.put(i)
	}
}

func (c *CacheRequests) put(i int) {
	c.slots[i] = CacheRequest{}
	c.free = append(c.free, i)
}

// SetActive makes a request the active member of a group of requests that share buffers; group 0 removes it from its
// group.
func (c *CacheRequests) SetActive(handler uint64, group uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, _ := c.find(handler)
	if r == nil || r.State != CacheInUse {
		return wrongState(handler, r, "group select")
	}
	for i := range c.slots {
		if c.slots[i].Group == group {
			c.slots[i].Active = false
		}
	}
	r.Group, r.Active = group, group != 0
	return nil
}

// ForceDisable disables cache requests permanently and invalidates all.
func (c *CacheRequests) ForceDisable() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.disabled = true
	for i := range c.slots {
		if c.slots[i].State == CacheInUse {
			c.invalidate(i)
		}
	}
}

// Request returns a copy of a live request.
func (c *CacheRequests) Request(handler uint64) (CacheRequest, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, _ := c.find(handler)
	if r == nil {
		return CacheRequest{}, false
	}
	return *r, true
}
