package broker

import (
	"context"
	"time"

	"github.com/zinc-compiler/zinc/runtime/sim/trace"
)

// Compiler compiles a model: the broker knows no compiler.
type Compiler func(ctx context.Context, r CompileRequest) (container, descriptor []byte, err error)

// Config says what a broker is made of.
type Config struct {
	Kernel  Kernel
	Compile Compiler // nil: compileModel is refused
	Limits  Limits
	// PerUser makes this the per-user broker of user UID.
	PerUser bool
	UID     int
	Trace   *trace.Tracer
	Now     func() time.Duration // virtual time for trace events; nil: 0
}

// Limits bound what callers can take. Zero fields get the defaults; all of them
// are modelled.
type Limits struct {
	Connections         int   // 128
	ReservedConnections int   // of them, for holders of the trust-cache key: 5
	Models              int   // loaded models of a connection: 64
	Instances           int   // instances of all connections: 256
	QueueSlots          int   // evaluations that all instances may have under way: 64
	QueueDepth          int   // of one instance: 127
	WiredBytes          int64 // memory of prepared programs: 2 GiB
	CacheBytes          int64 // compiled models kept: 1 GiB
	PrimaryModelBytes   int64 // model files that the ordinary compiler takes: 256 MiB
	MessageBytes        int64 // one message on the socket: 256 MiB
	CallsInFlight       int   // of one connection on the socket: 32
}
