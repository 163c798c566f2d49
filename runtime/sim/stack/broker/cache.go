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

// cache holds compiled models, with one partition per tenant. Broker.mu guards it.
//
// It does not use package cache, whose folder outlives its processes, can be read by anybody who may read the folder,
// and is keyed by files that the package opens itself. A broker receives a model's files as bytes of a message and
// opens no files of a caller; an entry belongs to one tenant and ends with the broker; concurrent callers that want one
// model wait for one compilation; and Purge drops one partition. The two share only a digest and an order of use.
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
	done                  chan struct{} // closed when the compilation has ended
	ready                 bool
	use                   uint64
}

func (e *cacheEntry) size() int64 { return int64(len(e.container) + len(e.descriptor)) }

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

// modelDigest is the SHA-256 of files, sorted by name, and options, sorted by key, each preceded by its length.
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

// Compile compiles a model, or finds it in the caller's partition. Of several concurrent callers with the same model,
// one compiles.
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
		return nil, errorf(mCompile, Failed, "this broker has no compiler; set Config.Compile")
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
		case <-e.done: // it is ready, or this caller compiles it
		case <-ctx.Done():
			return nil, errorf(mCompile, Aborted, "waiting for the same model to be compiled: %v", ctx.Err())
		}
	}
}

// checkModel refuses files without unique names and models too large for the ordinary service, and sorts the files.
func (b *Broker) checkModel(req CompileRequest) (CompileRequest, error) {
	if len(req.Files) == 0 {
		return req, errorf(mCompile, BadArgument, "the request has no files")
	}
	req.Files = slices.Clone(req.Files)
	slices.SortStableFunc(req.Files, func(a, c File) int { return cmp.Compare(a.Name, c.Name) })
	total := int64(0)
	for i, f := range req.Files {
		if f.Name == "" || i > 0 && f.Name == req.Files[i-1].Name {
			return req, errorf(mCompile, BadArgument, "file name %q is empty or not unique", f.Name)
		}
		total += int64(len(f.Data))
	}
	if total > b.lim.PrimaryModelBytes && !req.Secondary {
		return req, errorf(mCompile, NoResources,
			"the model has %d bytes; the ordinary compiler service accepts %d; set Secondary", total,
			b.lim.PrimaryModelBytes)
	}
	return req, nil
}

// compile fills an entry that the caller has added to the cache.
func (b *Broker) compile(ctx context.Context, key cacheKey, e *cacheEntry, req CompileRequest) (*CompileReply, error) {
	container, descriptor, err := b.runCompiler(ctx, req)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	defer close(e.done)
	switch kept := b.cache.entries[key] == e; { // false if a purge has removed it
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

// runCompiler calls the compiler. The compiler is not part of the broker and reads callers' input, so a panic in it
// becomes an error only for that caller.
func (b *Broker) runCompiler(ctx context.Context, req CompileRequest) (container, descriptor []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the compiler panicked: %v", p)
		}
	}()
	return b.cfg.Compile(ctx, req)
}

// Purge drops the compiled models of the caller's partition, or of all partitions.
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
