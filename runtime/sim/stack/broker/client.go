package broker

import (
	"context"
	"time"
)

// Client is a connection to a broker, in this process (*Session) or over a socket
// (*Remote). Its methods may be called from any number of goroutines; every error
// is an *Error, or the transport's.
type Client interface {
	// Tier is the tier that the connection was sorted into.
	Tier() Tier
	// Compile makes a container of a model, or finds it in the caller's cache
	// partition.
	Compile(ctx context.Context, r CompileRequest) (*CompileReply, error)
	// Load makes a container resident, or attaches to the resident program of the
	// same tenant.
	Load(ctx context.Context, r LoadRequest) (*LoadReply, error)
	// Attach takes part in a resident program that another process loaded with
	// Share. The caller's identity must be the owner's.
	Attach(ctx context.Context, r AttachRequest) (*LoadReply, error)
	// CreateInstance makes an instance of a loaded model.
	CreateInstance(ctx context.Context, r InstanceRequest) (*InstanceReply, error)
	// CreateInstanceWithWeights makes an instance whose coefficients come from
	// weight files and whose tasks are those of a named base model.
	CreateInstanceWithWeights(ctx context.Context, r WeightsRequest) (*InstanceReply, error)
	// Evaluate runs a procedure of an instance on surfaces, in place, and returns
	// when it is done.
	Evaluate(ctx context.Context, r EvaluateRequest) error
	// EvaluateAsync does the same and returns at once; done is called once, from
	// another goroutine. The surfaces belong to the call until then.
	EvaluateAsync(ctx context.Context, r EvaluateRequest, done func(error))
	// OpenDirectPath returns the handles with which the holder of the temporary
	// exception drives submissions on its own connection to the driver.
	OpenDirectPath(ctx context.Context, r DirectPathRequest) (*DirectPathReply, error)
	// PrepareChaining makes a chain of a procedure of an instance: the output set
	// of one execution is the input set of the next. The direct path fires it, for
	// whom the kernel lets chain data.
	PrepareChaining(ctx context.Context, r ChainingRequest) (*ChainingReply, error)
	// ReleaseInstance ends an instance.
	ReleaseInstance(ctx context.Context, r ReleaseRequest) error
	// Unload ends the caller's part in a resident program, and its instances of it.
	Unload(ctx context.Context, r UnloadRequest) error
	// Purge drops compiled models from the cache.
	Purge(ctx context.Context, r PurgeRequest) (*PurgeReply, error)
	// Close ends the connection and releases what it holds.
	Close() error
}

// ModelFile is one file of a model.
type ModelFile struct {
	Name string
	Data []byte
}

// CompileRequest asks for a model to be compiled.
type CompileRequest struct {
	Files   []ModelFile       // in any order; names are unique
	Options map[string]string // what the compiler takes
	QoS     QoS
	// Secondary asks for the longer-duration compiler service.
	Secondary bool
}

// CompileReply is a compiled model. Its bytes are the cache's: nobody may change
// them.
type CompileReply struct {
	Model      [32]byte // SHA-256 of files and options: the key of the cache
	Container  []byte
	Descriptor []byte
	Cached     bool // nothing was compiled
}

// LoadRequest asks for a container to be made resident.
type LoadRequest struct {
	Container []byte // stays in use until the program is gone
	// Identifier names the program as a base model; empty for none.
	Identifier string
	// Share lets other processes of the same identity take part, and takes part
	// in what one of them has loaded.
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
	Model      uint64 // the caller's name for it
	Resident   uint64 // the resident program behind it
	Digest     [32]byte
	Attached   bool // it was resident already
	Procedures []Procedure
}

// InstanceRequest asks for an instance.
type InstanceRequest struct {
	Model uint64
	QoS   QoS
	// EnablePowerSaving lets the program's memory go before that of others.
	EnablePowerSaving bool
	// AggressivePowerSaving lets it go whenever nothing runs.
	AggressivePowerSaving bool
	// OptOutOfModelMemoryUnwiring keeps it, idle or not.
	OptOutOfModelMemoryUnwiring bool
	// QueueDepth is how many evaluations may be under way at once; 0 asks for 1.
	QueueDepth int
}

// WeightFile replaces the coefficients of one part of a base's constants.
type WeightFile struct {
	Name string // of a symbol or section of the base's constants
	Data []byte
}

// WeightsRequest asks for an adapter instance.
type WeightsRequest struct {
	InstanceRequest        // Model is not used: the base is named
	Base            string // identifier that the base was loaded under
	WeightFileCount int    // the length of WeightFiles
	WeightFiles     []WeightFile
}

// InstanceReply is an instance.
type InstanceReply struct {
	Instance   uint64
	QueueDepth int // granted: at most what was requested
	Queue      int // index of the hardware queue
	Priority   int // program priority
	Procedures []Procedure
}

// EvaluateRequest asks for a run. Surfaces has a slice of at least its size for
// every port of the procedure, and nothing else; outputs are written in place. The
// same slices from run to run are bound once.
type EvaluateRequest struct {
	Instance  uint64
	Procedure string // empty for the first
	Surfaces  map[string][]byte
	QoS       QoS // zero for the instance's
	// Timeout is the request's deadline from when the driver gets it, of virtual
	// time; 0 is the driver's own.
	Timeout time.Duration
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

// PurgeReply counts what went.
type PurgeReply struct {
	Models int
	Bytes  int64
}
