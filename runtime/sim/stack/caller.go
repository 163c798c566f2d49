package stack

import (
	"context"
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
)

// Caller calls the methods of the broker one by one, for looking at a broker. What must come before a method, such as
// loading the program and creating an instance, is done first.
type Caller struct {
	// Files are a model's, for compileModel, and Options its compiler's.
	Files     broker.Files
	Options   broker.CompilerOptions
	Secondary bool
	Container []byte // of the program, or of an adapter of Base
	Base      []byte // container of the base model of createInstanceWithWeights; nil for the program itself
	Share     bool   // of loadModel
	// Instance has the arguments of createInstance; its model is set by the caller.
	Instance      broker.InstanceRequest
	AllPartitions bool // of purgeModels
	// Resident is the resident program of attachModel; 0 for the one that this caller has loaded.
	Resident uint64

	client   broker.Client
	load     *broker.LoadReply
	instance *broker.InstanceReply
}

// Caller sets the client of a caller to the process's connection.
func (p *Process) Caller(c *Caller) *Caller {
	c.client, c.Instance.QoS, c.load, c.instance = p.client, p.qos, nil, nil
	return c
}

// Call calls a method and returns its results as text, a line each.
func (c *Caller) Call(ctx context.Context, method string) (string, error) {
	call := map[string]func(context.Context) (string, error){
		"compileModel":              c.compile,
		"loadModel":                 c.loadModel,
		"attachModel":               c.attach,
		"createInstance":            c.createInstance,
		"createInstanceWithWeights": c.adapt,
		"evaluate":                  c.evaluate,
		"evaluateAsync":             c.evaluateAsync,
		"openDirectPath":            c.direct,
		"prepareChaining":           c.chain,
		"releaseInstance":           c.release,
		"unloadModel":               c.unload,
		"purgeModels":               c.purge,
	}[method]
	if call == nil {
		return "", fmt.Errorf("unknown method %q of the broker", method)
	}
	return call(ctx)
}

func (c *Caller) compile(ctx context.Context) (string, error) {
	r, err := c.client.Compile(ctx, broker.CompileRequest{
		Files: c.Files, Options: c.Options, QoS: c.Instance.QoS, Secondary: c.Secondary,
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("model: %x\ncontainer: %d bytes\ndescriptor: %d bytes\ncached: %t\n", r.Model, len(r.Container),
		len(r.Descriptor), r.Cached), nil
}

func (c *Caller) loadModel(ctx context.Context) (string, error) {
	container := c.Container
	if c.Base != nil {
		container = c.Base
	}
	r, err := c.client.Load(ctx, broker.LoadRequest{
		Container: container, Identifier: "base", Share: c.Share, QoS: c.Instance.QoS,
	})
	if err != nil {
		return "", err
	}
	c.load, c.instance = r, nil
	return loaded(r), nil
}

func loaded(r *broker.LoadReply) string {
	var names []string
	for _, p := range r.Procedures {
		names = append(names, fmt.Sprintf("%s with %d ports", p.Name, len(p.Ports)))
	}
	return fmt.Sprintf("model: %d\nresident: %d\nattached: %t\nprocedures: %s\n", r.Model, r.Resident, r.Attached,
		strings.Join(names, ", "))
}

// needModel loads the program unless that has been done.
func (c *Caller) needModel(ctx context.Context) error {
	if c.load != nil {
		return nil
	}
	_, err := c.loadModel(ctx)
	return err
}

func (c *Caller) attach(ctx context.Context) (string, error) {
	resident := c.Resident
	if resident == 0 {
		if err := c.needModel(ctx); err != nil {
			return "", err
		}
		resident = c.load.Resident
	}
	r, err := c.client.Attach(ctx, broker.AttachRequest{Resident: resident, QoS: c.Instance.QoS})
	if err != nil {
		return "", err
	}
	return loaded(r), nil
}

// Loaded returns the resident program that the caller has loaded, 0 for none.
func (c *Caller) Loaded() uint64 {
	if c.load == nil {
		return 0
	}
	return c.load.Resident
}

func (c *Caller) createInstance(ctx context.Context) (string, error) {
	if err := c.needModel(ctx); err != nil {
		return "", err
	}
	req := c.Instance
	req.Model = c.load.Model
	r, err := c.client.CreateInstance(ctx, req)
	if err != nil {
		return "", err
	}
	c.instance = r
	return created(r), nil
}

func created(r *broker.InstanceReply) string {
	return fmt.Sprintf("instance: %d\nqueue depth: %d\nqueue: %d\npriority: %d\n", r.Instance, r.QueueDepth, r.Queue,
		r.Priority)
}

func (c *Caller) adapt(ctx context.Context) (string, error) {
	if err := c.needModel(ctx); err != nil {
		return "", err
	}
	req := broker.WeightsRequest{InstanceRequest: c.Instance, Base: "base"}
	if c.Base != nil {
		var err error
		if req.WeightFiles, err = broker.WeightsOf(c.Base, c.Container); err != nil {
			return "", err
		}
		req.WeightFileCount = len(req.WeightFiles)
	}
	r, err := c.client.CreateInstanceWithWeights(ctx, req)
	if err != nil {
		return "", err
	}
	c.instance = r
	return created(r), nil
}

// needInstance creates an instance unless that has been done, and returns a request that runs its first procedure on
// zeros.
func (c *Caller) needInstance(ctx context.Context) (broker.EvaluateRequest, error) {
	if c.instance == nil {
		if _, err := c.createInstance(ctx); err != nil {
			return broker.EvaluateRequest{}, err
		}
	}
	req := broker.EvaluateRequest{Instance: c.instance.Instance, Surfaces: map[string][]byte{}}
	if len(c.instance.Procedures) > 0 {
		ports, bytes := c.instance.Procedures[0].Ports, int64(0)
		for _, p := range ports {
			bytes += int64(p.Size)
		}
		if err := room(bytes); err != nil {
			return broker.EvaluateRequest{}, err
		}
		for _, p := range ports {
			req.Surfaces[p.Name] = make([]byte, p.Size)
		}
	}
	return req, nil
}

func (c *Caller) evaluate(ctx context.Context) (string, error) {
	req, err := c.needInstance(ctx)
	if err != nil {
		return "", err
	}
	if err := c.client.Evaluate(ctx, req); err != nil {
		return "", err
	}
	return fmt.Sprintf("ran on %d surfaces\n", len(req.Surfaces)), nil
}

func (c *Caller) evaluateAsync(ctx context.Context) (string, error) {
	req, err := c.needInstance(ctx)
	if err != nil {
		return "", err
	}
	done := make(chan error, 1)
	c.client.EvaluateAsync(ctx, req, func(err error) { done <- err })
	if err := <-done; err != nil {
		return "", err
	}
	return fmt.Sprintf("completed on %d surfaces\n", len(req.Surfaces)), nil
}

func (c *Caller) direct(ctx context.Context) (string, error) {
	req, err := c.needInstance(ctx)
	if err != nil {
		return "", err
	}
	r, err := c.client.OpenDirectPath(ctx, broker.DirectPathRequest{Instance: req.Instance})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("program: %#x\nintermediate buffer: %#x\n", r.Program, r.IntermediateBuffer), nil
}

func (c *Caller) chain(ctx context.Context) (string, error) {
	req, err := c.needInstance(ctx)
	if err != nil {
		return "", err
	}
	r, err := c.client.PrepareChaining(ctx, broker.ChainingRequest{Instance: req.Instance})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("chain: %#x\nprocedure: %d\ninputs: %d\noutputs: %d\n", r.Chain, r.Procedure, r.Inputs,
		r.Outputs), nil
}

func (c *Caller) release(ctx context.Context) (string, error) {
	req, err := c.needInstance(ctx)
	if err != nil {
		return "", err
	}
	c.instance = nil
	return "", c.client.ReleaseInstance(ctx, broker.ReleaseRequest{Instance: req.Instance})
}

func (c *Caller) unload(ctx context.Context) (string, error) {
	if err := c.needModel(ctx); err != nil {
		return "", err
	}
	model := c.load.Model
	c.load, c.instance = nil, nil
	return "", c.client.Unload(ctx, broker.UnloadRequest{Model: model})
}

func (c *Caller) purge(ctx context.Context) (string, error) {
	r, err := c.client.Purge(ctx, broker.PurgeRequest{AllPartitions: c.AllPartitions})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("models: %d\nbytes: %d\n", r.Models, r.Bytes), nil
}
