package broker

import (
	"context"
	"errors"
)

// Runner is a loaded container with one instance of it. It is a dispatcher of the simulator's machine.
type Runner struct {
	c        Client
	model    uint64
	instance *InstanceReply
}

// Open loads a container and creates an instance of it; the Model of the request is ignored. The container must stay
// unchanged until Close.
func Open(ctx context.Context, c Client, load LoadRequest, req InstanceRequest) (*Runner, error) {
	m, err := c.Load(ctx, load)
	if err != nil {
		return nil, err
	}
	req.Model = m.Model
	in, err := c.CreateInstance(ctx, req)
	if err != nil {
		return nil, errors.Join(err, c.Unload(context.WithoutCancel(ctx), UnloadRequest{Model: m.Model}))
	}
	return &Runner{c, m.Model, in}, nil
}

// Instance returns what the broker granted.
func (r *Runner) Instance() InstanceReply { return *r.instance }

// Dispatch runs a procedure on the surfaces of its ports, in place. It may be called from any number of goroutines; the
// granted queue depth limits how many run at a time.
func (r *Runner) Dispatch(ctx context.Context, procedure string, surfaces map[string][]byte) error {
	return r.c.Evaluate(ctx, EvaluateRequest{Instance: r.instance.Instance, Procedure: procedure, Surfaces: surfaces})
}

// Close unloads the container.
func (r *Runner) Close() error {
	return r.c.Unload(context.Background(), UnloadRequest{Model: r.model})
}
