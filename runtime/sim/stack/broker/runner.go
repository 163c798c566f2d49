package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// Runner is a loaded container with one instance of it. It is a dispatcher of the simulator's machine.
type Runner struct {
	c        Client
	model    uint64
	instance *InstanceReply
	release  bool // the instance is not of the model, and does not end with it
}

// Open loads a container and creates an instance of it; the Model of the request is ignored. The container must stay
// unchanged until Close.
func Open(ctx context.Context, c Client, load LoadRequest, req InstanceRequest) (*Runner, error) {
	m, err := c.Load(ctx, load)
	if err != nil {
		return nil, err
	}
	return newRunner(ctx, c, m.Model, req)
}

// OpenResident creates an instance of a resident program of a container that another process of the same identity
// shares.
func OpenResident(ctx context.Context, c Client, container []byte, load AttachRequest, req InstanceRequest) (*Runner,
	error) {
	m, err := c.Attach(ctx, load)
	if err != nil {
		return nil, err
	}
	if m.Digest != sha256.Sum256(container) {
		err = errorf(mAttach, Mismatch, "resident program %d is of another container", load.Resident)
		return nil, errors.Join(err, c.Unload(context.WithoutCancel(ctx), UnloadRequest{Model: m.Model}))
	}
	return newRunner(ctx, c, m.Model, req)
}

// newRunner creates an instance of a loaded model, which is unloaded if that fails.
func newRunner(ctx context.Context, c Client, model uint64, req InstanceRequest) (*Runner, error) {
	req.Model = model
	in, err := c.CreateInstance(ctx, req)
	if err != nil {
		return nil, errors.Join(err, c.Unload(context.WithoutCancel(ctx), UnloadRequest{Model: model}))
	}
	return &Runner{c: c, model: model, instance: in}, nil
}

// OpenAdapter makes a base model resident, which is shared with the processes of the same identity, and creates an
// instance of it with the coefficients of another container. The two may differ in coefficients only.
func OpenAdapter(ctx context.Context, c Client, base, container []byte, req InstanceRequest) (*Runner, error) {
	files, err := WeightsOf(base, container)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(base)
	name := hex.EncodeToString(sum[:])
	m, err := c.Load(ctx, LoadRequest{Container: base, Identifier: name, QoS: req.QoS})
	if err != nil {
		return nil, err
	}
	in, err := c.CreateInstanceWithWeights(ctx, WeightsRequest{
		InstanceRequest: req,
		Base:            name,
		WeightFileCount: len(files),
		WeightFiles:     files,
	})
	if err != nil {
		return nil, errors.Join(err, c.Unload(context.WithoutCancel(ctx), UnloadRequest{Model: m.Model}))
	}
	return &Runner{c: c, model: m.Model, instance: in, release: true}, nil
}

// Instance returns what the broker granted.
func (r *Runner) Instance() InstanceReply { return *r.instance }

// Dispatch runs a procedure on the surfaces of its ports, in place. It may be called from any number of goroutines; the
// granted queue depth limits how many run at a time.
func (r *Runner) Dispatch(ctx context.Context, procedure string, surfaces map[string][]byte) error {
	return r.c.Evaluate(ctx, EvaluateRequest{Instance: r.instance.Instance, Procedure: procedure, Surfaces: surfaces})
}

// Chain runs consecutive procedures one after another for one request, without the host between them.
func (r *Runner) Chain(ctx context.Context, segments []Segment) error {
	return r.c.Evaluate(ctx, EvaluateRequest{
		Instance:  r.instance.Instance,
		Procedure: segments[0].Procedure,
		Surfaces:  segments[0].Surfaces,
		Then:      segments[1:],
	})
}

// Close unloads the container.
func (r *Runner) Close() error {
	if r.release {
		err := r.c.ReleaseInstance(context.Background(), ReleaseRequest{Instance: r.instance.Instance})
		return errors.Join(err, r.c.Unload(context.Background(), UnloadRequest{Model: r.model}))
	}
	return r.c.Unload(context.Background(), UnloadRequest{Model: r.model})
}
