package broker

import (
	"context"
	"time"
)

// Client is a connection to a broker, in this process (*Session) or over a socket
// (*Remote). Its methods may be called from any number of goroutines; every error
// is an *Error, or the transport's.
type Client interface {
	// Compile compiles a model, or finds it in the caller's cache partition.
	Compile(ctx context.Context, r CompileRequest) (*CompileReply, error)
	// Load makes a container resident, or attaches to the resident program of the
	// same tenant.
	Load(ctx context.Context, r LoadRequest) (*LoadReply, error)
	// Attach shares a resident program that another process loaded with Share. The caller's identity must be the
	// owner's.
	Attach(ctx context.Context, r AttachRequest) (*LoadReply, error)
	// CreateInstance creates an instance of a loaded model.
	CreateInstance(ctx context.Context, r InstanceRequest) (*InstanceReply, error)
	// CreateInstanceWithWeights creates an instance with coefficients from weight files and the tasks of a named base
	// model.
	CreateInstanceWithWeights(ctx context.Context, r WeightsRequest) (*InstanceReply, error)
	// Evaluate runs a procedure of an instance on surfaces, in place, and returns
	// when it is done.
	Evaluate(ctx context.Context, r EvaluateRequest) error
	// EvaluateAsync does the same but returns at once; done is called once, from another goroutine. The caller must not
	// use the surfaces until then.
	EvaluateAsync(ctx context.Context, r EvaluateRequest, done func(error))
	// OpenDirectPath returns the handles with which the holder of the temporary
	// exception drives submissions on its own connection to the driver.
	OpenDirectPath(ctx context.Context, r DirectPathRequest) (*DirectPathReply, error)
	// PrepareChaining creates a chain of a procedure of an instance: the output set of one execution is the input set
	// of the next. Clients that the kernel allows to chain data start it on the direct path.
	PrepareChaining(ctx context.Context, r ChainingRequest) (*ChainingReply, error)
	// ReleaseInstance ends an instance.
	ReleaseInstance(ctx context.Context, r ReleaseRequest) error
	// Unload ends the caller's use of a resident program and releases its instances.
	Unload(ctx context.Context, r UnloadRequest) error
	// Purge drops compiled models from the cache.
	Purge(ctx context.Context, r PurgeRequest) (*PurgeReply, error)
	// Close ends the connection and releases what it owns.
	Close() error
}

// CompileRequest is the argument of Compile.
type CompileRequest struct {
	Files   Files // of the model, in any order; names are unique
	Options CompilerOptions
	QoS     QoS
	// Secondary selects the longer-duration compiler service.
	Secondary bool
}

// CompileReply is a compiled model. Its bytes belong to the cache and must not be changed.
type CompileReply struct {
	Model      [32]byte // SHA-256 of files and options: the key of the cache
	Container  []byte
	Descriptor []byte
	Cached     bool // nothing was compiled
}

// LoadRequest is the argument of Load.
type LoadRequest struct {
	Container []byte // must stay unchanged until the program is unloaded
	// Identifier names the program as a base model; empty for none.
	Identifier string
	// Share lets other processes of the same identity share the program, and shares one that such a process has loaded.
	Share bool
	QoS   QoS
}

// AttachRequest names a resident program of another process.
type AttachRequest struct {
	Resident uint64
	QoS      QoS
}

// Port is a surface that a procedure binds.
type Port struct {
	Name   string
	Output bool
	Size   uint64 // bytes
}

// Procedure is an entry of a program.
type Procedure struct {
	Name  string
	Ports []Port
}

// LoadReply is a loaded model.
type LoadReply struct {
	Model      uint64 // the caller's identifier of it
	Resident   uint64 // of its resident program
	Digest     [32]byte
	Attached   bool // it was already resident
	Procedures []Procedure
}

// InstanceRequest is the argument of CreateInstance.
type InstanceRequest struct {
	Model uint64
	QoS   QoS
	// EnablePowerSaving releases the program's memory before the memory of others.
	EnablePowerSaving bool
	// AggressivePowerSaving releases the memory whenever nothing runs.
	AggressivePowerSaving bool
	// OptOutOfModelMemoryUnwiring keeps the memory, idle or not.
	OptOutOfModelMemoryUnwiring bool
	// QueueDepth is the number of evaluations that may be under way at once; 0 means 1.
	QueueDepth int
	// Stateful says that the evaluations of a procedure are steps of a computation with states: after the first, each
	// is a trigger of a request that the firmware keeps.
	Stateful bool
}

// WeightsRequest is the argument of CreateInstanceWithWeights.
type WeightsRequest struct {
	InstanceRequest        // Model is ignored: Base names the program
	Base            string // identifier that the base was loaded under
	WeightFileCount int    // the length of WeightFiles
	// WeightFiles replace the coefficients of parts of the base's constants: symbols or sections, by name.
	WeightFiles Files
}

// InstanceReply is an instance.
type InstanceReply struct {
	Instance   uint64
	QueueDepth int // granted: at most what was requested
	Queue      int // index of the hardware queue
	Priority   int // program priority
	Procedures []Procedure
}

// EvaluateRequest is the argument of Evaluate. Surfaces has a slice for every port of the procedure, at least as large
// as the port, and nothing else; outputs are written in place. Slices that stay the same from run to run are bound
// once.
type EvaluateRequest struct {
	Instance  uint64
	Procedure string // empty for the first
	Surfaces  map[string][]byte
	// Then are procedures that the firmware runs after it, without the host: those after Procedure in the program's
	// order.
	Then []Segment
	QoS  QoS // zero: the instance's
	// Timeout is the virtual time that the request may take from when the driver receives it; 0 means the driver's
	// default.
	Timeout time.Duration
}

// Segment is a further procedure of a request. A port that reads what an earlier procedure of the request writes is in
// Passed, with the port of the writer, whose surface it has.
type Segment struct {
	Procedure string
	Surfaces  map[string][]byte
	Passed    map[string]string
}

// DirectPathRequest names the instance to be driven directly.
type DirectPathRequest struct {
	Instance uint64
	QoS      QoS
}

// DirectPathReply is what a client needs on its own connection.
type DirectPathReply struct {
	Program            uint64 // the driver's handle of the program instance
	IntermediateBuffer uint64 // the handle of its intermediate buffer
}

// ChainingRequest names the procedure to be chained.
type ChainingRequest struct {
	Instance  uint64
	Procedure string // empty for the first
	QoS       QoS
}

// ChainingReply is a chain.
type ChainingReply struct {
	Chain           uint64 // the driver's handle
	Procedure       int    // index
	Inputs, Outputs int    // ports
}

// ReleaseRequest names an instance.
type ReleaseRequest struct{ Instance uint64 }

// UnloadRequest names a loaded model.
type UnloadRequest struct {
	Model uint64
	QoS   QoS
}

// PurgeRequest says what to drop: the caller's own partition, or all.
type PurgeRequest struct{ AllPartitions bool }

// PurgeReply counts what was dropped.
type PurgeReply struct {
	Models int
	Bytes  int64
}
