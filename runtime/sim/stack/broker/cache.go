package broker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// cache holds compiled models, one partition a tenant. Broker.mu guards it.
//
// It is not package cache, and does not call it: that one is a folder which outlives
// its processes and gives whoever may read it every pair, by a key over files that
// it opens itself. A broker gets a model's files as bytes of a message and opens
// none of a caller's; an entry is a tenant's own and goes with the broker; callers
// that ask for one model at one time wait for one compilation; and Purge takes
// one partition. What the two have in common is a digest and an order of use.
type cache struct {
	limit, bytes int64
	entries      map[cacheKey]*cacheEntry
}

type cacheKey struct {
	owner tenant
	model [32]byte
}

type cacheEntry struct {
	container, descriptor []byte
	done                  chan struct{} // closed when it is compiled, or could not be
	ready                 bool
	use                   uint64
}

func (e *cacheEntry) size() int64 { return int64(len(e.container) + len(e.descriptor)) }

// len counts the models that are compiled.
func (c *cache) len() int {
	n := 0
	for _, e := range c.entries {
		if e.ready {
			n++
		}
	}
	return n
}

// evict makes the cache fit its limit, least recently used first.
func (c *cache) evict() {
	for c.bytes > c.limit {
		var first cacheKey
		found := false
		for k, e := range c.entries {
			if e.ready && (!found || e.use < c.entries[first].use) {
				first, found = k, true
			}
		}
		if !found {
			return
		}
		c.remove(first)
	}
}

func (c *cache) remove(k cacheKey) {
	c.bytes -= c.entries[k].size()
	delete(c.entries, k)
}

// modelDigest is SHA-256 of files, by name, and options, by key, each with its
// length before it.
func modelDigest(r *CompileRequest) [32]byte {
	h := sha256.New()
	put := func(b []byte) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	put([]byte{byte(len(r.Files)), byte(len(r.Files) >> 8), byte(len(r.Files) >> 16), byte(len(r.Files) >> 24)})
	for _, f := range r.Files {
		put([]byte(f.Name))
		put(f.Data)
	}
	for _, k := range slices.Sorted(maps.Keys(r.Options)) {
		put([]byte(k))
		put([]byte(r.Options[k]))
	}
	return [32]byte(h.Sum(nil))
}

// Compile makes a container of a model, or finds it in the caller's partition. Of
// several callers that ask for one model at a time, one compiles.
func (s *Session) Compile(ctx context.Context, req CompileRequest) (reply *CompileReply, err error) {
	end, err := s.enter(ctx, mCompile, &req)
	if err != nil {
		return nil, err
	}
	defer func() { end(err) }()
	ctx, stop := s.until(ctx)
	defer stop()
	b := s.b
	if b.cfg.Compile == nil {
		return nil, errorf(mCompile, Failed, "this broker was made without a compiler")
	}
	if req, err = b.checkModel(req); err != nil {
		return nil, err
	}
	key := cacheKey{s.owner, modelDigest(&req)}
	for {
		b.mu.Lock()
		e := b.cache.entries[key]
		if e == nil {
			e = &cacheEntry{done: make(chan struct{})}
			b.cache.entries[key] = e
			b.mu.Unlock()
			return b.compile(ctx, key, e, req)
		}
		if e.ready {
			b.use++
			e.use = b.use
			b.mu.Unlock()
			return &CompileReply{Model: key.model, Container: e.container, Descriptor: e.descriptor, Cached: true}, nil
		}
		b.mu.Unlock()
		select {
		case <-e.done: // it is ready, or the turn is ours
		case <-ctx.Done():
			return nil, errorf(mCompile, Aborted, "waiting for the same model to be compiled: %v", ctx.Err())
		}
	}
}

// checkModel refuses files without unique names and models that the ordinary
// service does not take, and puts the files in order.
func (b *Broker) checkModel(req CompileRequest) (CompileRequest, error) {
	if len(req.Files) == 0 {
		return req, errorf(mCompile, BadArgument, "there are no files")
	}
	req.Files = slices.Clone(req.Files)
	slices.SortStableFunc(req.Files, func(a, c ModelFile) int { return cmp.Compare(a.Name, c.Name) })
	total := int64(0)
	for i, f := range req.Files {
		if f.Name == "" || i > 0 && f.Name == req.Files[i-1].Name {
			return req, errorf(mCompile, BadArgument, "file %q: names must be unique and not empty", f.Name)
		}
		total += int64(len(f.Data))
	}
	if total > b.lim.PrimaryModelBytes && !req.Secondary {
		return req, errorf(mCompile, NoResources,
			"the model has %d bytes, the ordinary compiler service takes %d; ask for Secondary", total,
			b.lim.PrimaryModelBytes)
	}
	return req, nil
}

// compile fills an entry that the caller has put into the cache.
func (b *Broker) compile(ctx context.Context, key cacheKey, e *cacheEntry, req CompileRequest) (*CompileReply, error) {
	container, descriptor, err := b.runCompiler(ctx, req)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	defer close(e.done)
	switch kept := b.cache.entries[key] == e; { // a purge has taken it otherwise
	case err != nil && kept:
		delete(b.cache.entries, key)
	case kept:
		e.container, e.descriptor, e.ready = container, descriptor, true
		b.use++
		e.use = b.use
		b.cache.bytes += e.size()
		b.cache.evict()
	}
	switch {
	case ctx.Err() != nil:
		return nil, errorf(mCompile, Aborted, "%v", ctx.Err())
	case err != nil:
		return nil, failed(mCompile, "compile", err)
	}
	return &CompileReply{Model: key.model, Container: container, Descriptor: descriptor}, nil
}

// runCompiler calls the compiler. It is foreign to the broker and reads what
// callers send, so a panic in it is that caller's error alone.
func (b *Broker) runCompiler(ctx context.Context, req CompileRequest) (container, descriptor []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the compiler panicked: %v", p)
		}
	}()
	return b.cfg.Compile(ctx, req)
}

// Purge drops compiled models: of the caller's partition, or of all.
func (s *Session) Purge(ctx context.Context, req PurgeRequest) (reply *PurgeReply, err error) {
	end, err := s.enter(ctx, mPurge, &req)
	if err != nil {
		return nil, err
	}
	defer func() { end(err) }()
	b := s.b
	b.mu.Lock()
	defer b.mu.Unlock()
	reply = &PurgeReply{}
	for k, e := range b.cache.entries {
		if k.owner != s.owner && !req.AllPartitions {
			continue
		}
		if e.ready {
			reply.Models++
			reply.Bytes += e.size()
		}
		b.cache.remove(k)
	}
	return reply, nil
}
