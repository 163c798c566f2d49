package broker

import "context"

// pin wires an instance and keeps it so until it is released. The caller holds load.
func (s *Session) pin(method string, num uint64) (*instance, error) {
	b := s.b
	in, err := s.instance(method, num)
	if err != nil {
		return nil, err
	}
	if err := b.wire(method, in.r, in); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !in.direct {
		in.direct = true
		in.r.direct++
	}
	return in, nil
}

// OpenDirectPath returns the handles of the direct path.
func (s *Session) OpenDirectPath(ctx context.Context, req DirectPathRequest) (reply *DirectPathReply, err error) {
	end, err := s.enter(ctx, mDirect, &req)
	if err != nil {
		return nil, err
	}
	defer func() { end(err) }()
	s.b.load.Lock()
	defer s.b.load.Unlock()
	in, err := s.pin(mDirect, req.Instance)
	if err != nil {
		return nil, err
	}
	return &DirectPathReply{Program: uint64(in.handle), IntermediateBuffer: uint64(in.r.intermediate)}, nil
}

// PrepareChaining creates a chain of a procedure of an instance. Chains end with the connection to the driver that
// created them, so the chains of an instance have a connection of their own, which is closed when the instance is
// released.
func (s *Session) PrepareChaining(ctx context.Context, req ChainingRequest) (reply *ChainingReply, err error) {
	end, err := s.enter(ctx, mChaining, &req)
	if err != nil {
		return nil, err
	}
	defer func() { end(err) }()
	b := s.b
	b.load.Lock()
	defer b.load.Unlock()
	in, err := s.pin(mChaining, req.Instance)
	if err != nil {
		return nil, err
	}
	p := in.procedure(req.Procedure)
	if p < 0 {
		return nil, errorf(mChaining, NotFound, "the program has no procedure %q", req.Procedure)
	}
	if in.chains == nil {
		svc, err := b.cfg.Kernel.Open(s.id)
		if err != nil {
			return nil, failed(mChaining, "open", err)
		}
		in.chains = svc
		b.mu.Lock()
		in.revoke = append(in.revoke, svc)
		b.mu.Unlock()
	}
	h, err := in.chains.PrepareChain(in.handle, p)
	if err != nil {
		return nil, failed(mChaining, "prepare chaining", err)
	}
	reply = &ChainingReply{Chain: uint64(h), Procedure: p}
	for _, port := range in.r.procs[p].Ports {
		if port.Output {
			reply.Outputs++
		} else {
			reply.Inputs++
		}
	}
	return reply, nil
}
