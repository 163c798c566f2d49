package broker

import (
	"context"
	"errors"
)

// Runner is a loaded container with one instance of it. Its Dispatch has the form
// that the simulator's machine asks of a dispatcher.
type Runner struct {
	c        Client
	model    uint64
	instance *InstanceReply
}

// Open loads a container and makes an instance of it; the Model of the request is
// not used. The container stays in use until Close.
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

// Instance is what the broker granted.
func (r *Runner) Instance() InstanceReply { return *r.instance }

// Dispatch runs a procedure on the surfaces of its ports, in place. It may be
// called from any number of goroutines; as many run at a time as the queue depth
// that was granted.
func (r *Runner) Dispatch(ctx context.Context, procedure string, surfaces map[string][]byte) error {
	return r.c.Evaluate(ctx, EvaluateRequest{Instance: r.instance.Instance, Procedure: procedure, Surfaces: surfaces})
}

// Close unloads the container.
func (r *Runner) Close() error {
	return r.c.Unload(context.Background(), UnloadRequest{Model: r.model})
}
