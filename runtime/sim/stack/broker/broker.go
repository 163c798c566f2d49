package broker

import (
	"cmp"
	"context"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// Compiler compiles a model; the broker has no compiler of its own. It must stop when the context ends.
type Compiler func(ctx context.Context, r CompileRequest) (container, descriptor []byte, err error)

// Config configures a broker.
type Config struct {
	Kernel  Kernel
	Compile Compiler // nil: compileModel is refused
	Limits  Limits
	// PerUser makes this the per-user broker of user UID.
	PerUser bool
	UID     int
	Trace   *trace.Tracer
	Now     func() time.Duration // virtual time for trace events; nil: 0
	// Device describes the device below the broker, for Status; nil: nothing is known of it.
	Device func() DeviceStatus
	// Attest vouches for callers on a socket; nil: Peer.
	Attest Attest
	// Lockstep makes the clients on the socket run in lockstep; nil: they run as they come.
	Lockstep *Lockstep
}

// Limits bound the resources of callers. Zero fields mean the defaults; all values are modelled.
type Limits struct {
	Connections         int   // 128
	ReservedConnections int   // of them, for holders of the trust-cache key: 5
	Models              int   // loaded models of a connection: 64
	ModelBytes          int64 // of the containers of a connection: 4 GiB
	Instances           int   // of a connection: 64
	QueueSlots          int   // evaluations that all instances may have under way: 128
	QueueDepth          int   // of one instance: 127
	WiredBytes          int64 // memory of prepared programs: 2 GiB
	CacheBytes          int64 // compiled models kept: 1 GiB
	PrimaryModelBytes   int64 // model files that the ordinary compiler takes: 256 MiB
	MessageBytes        int64 // one message on the socket: 512 MiB
	CallsInFlight       int   // of one connection on the socket: 32
	// Handshake and Write limit the host time that a peer on the socket may take to identify itself, and to accept a
	// reply: 10 s and 30 s.
	Handshake, Write time.Duration
}

func (l Limits) withDefaults() Limits {
	l.Connections = cmp.Or(l.Connections, 128)
	l.ReservedConnections = min(cmp.Or(l.ReservedConnections, 5), l.Connections)
	l.Models = cmp.Or(l.Models, 64)
	l.ModelBytes = cmp.Or(l.ModelBytes, 4<<30)
	l.Instances = cmp.Or(l.Instances, 64)
	l.QueueSlots = cmp.Or(l.QueueSlots, 128)
	l.QueueDepth = cmp.Or(l.QueueDepth, 127)
	l.WiredBytes = cmp.Or(l.WiredBytes, 2<<30)
	l.CacheBytes = cmp.Or(l.CacheBytes, 1<<30)
	l.PrimaryModelBytes = cmp.Or(l.PrimaryModelBytes, 256<<20)
	l.MessageBytes = cmp.Or(l.MessageBytes, 512<<20)
	l.CallsInFlight = cmp.Or(l.CallsInFlight, 32)
	l.Handshake = cmp.Or(l.Handshake, 10*time.Second)
	l.Write = cmp.Or(l.Write, 30*time.Second)
	return l
}

// Broker is the daemon.
type Broker struct {
	cfg Config
	log trace.Log
	lim Limits

	// load is held while programs are created, wired, unwired or ended; it is locked before mu.
	load sync.Mutex

	mu        sync.Mutex
	closed    bool
	next      uint64 // identifiers of sessions, residents, models and instances
	use       uint64 // counts uses of programs: the order of last use
	sessions  map[uint64]*Session
	ordinary  int // sessions in slots that are not reserved
	tenants   map[tenant]*connection
	residents map[residentKey]*resident
	byID      map[uint64]*resident
	slots     int // queue slots granted
	wired     int64
	cache     cache
	listeners map[net.Listener]bool
	peers     map[net.Conn]bool
	lockstep  *lockstep // nil: clients run as they come
}

// New creates a broker. It opens the device when the first program is loaded.
func New(cfg Config) (*Broker, error) {
	if cfg.Kernel == nil {
		return nil, errorf(mConnect, BadArgument, "Config.Kernel is missing")
	}
	if cfg.Now == nil {
		cfg.Now = func() time.Duration { return 0 }
	}
	if cfg.Attest == nil {
		cfg.Attest = Peer
	}
	b := &Broker{
		cfg: cfg, lim: cfg.Limits.withDefaults(),
		sessions: map[uint64]*Session{}, tenants: map[tenant]*connection{},
		residents: map[residentKey]*resident{}, byID: map[uint64]*resident{},
		listeners: map[net.Listener]bool{}, peers: map[net.Conn]bool{},
	}
	if l := cfg.Lockstep; l != nil {
		if n := b.lim.Connections - b.lim.ReservedConnections; l.Seats > n {
			return nil, errorf(mConnect, BadArgument, "%d clients in lockstep; the broker takes %d", l.Seats, n)
		}
		b.lockstep = newLockstep(cfg.Lockstep)
	}
	b.log = trace.Log{Tracer: cfg.Trace, Layer: trace.Broker, Now: cfg.Now}
	b.cache.limit = b.lim.CacheBytes
	b.cache.entries = map[cacheKey]*cacheEntry{}
	return b, nil
}

// Connect accepts a caller in this process. The identity is not checked.
func (b *Broker) Connect(id Identity) (*Session, error) {
	tier, err := b.accept(&id)
	if err != nil {
		b.log.Note(mConnect, 0, 0, trace.Number("pid", id.PID), trace.Failure(err))
		return nil, err
	}
	b.mu.Lock()
	s, err := b.admitSession(id, tier)
	b.mu.Unlock()
	if err != nil {
		b.log.Note(mConnect, 0, 0, trace.Number("pid", id.PID), trace.Failure(err))
		return nil, err
	}
	b.log.Note(mConnect, s.num, 0, trace.Number("pid", id.PID), trace.Text("tier", tier.String()))
	return s, nil
}

// admitSession reserves a slot for a connection. The caller holds mu.
func (b *Broker) admitSession(id Identity, tier Tier) (*Session, error) {
	if b.closed {
		return nil, errBrokerClosed
	}
	blessed := id.Entitled(KeyTrustCacheClient)
	open := b.lim.Connections - b.lim.ReservedConnections
	reserved := false
	switch {
	case b.ordinary < open:
		b.ordinary++
	case blessed && len(b.sessions) < b.lim.Connections:
		reserved = true
	default:
		e := errorf(mConnect, NoResources,
			"%d connections are open, of %d with %d reserved for holders of %s; close one", len(b.sessions),
			b.lim.Connections, b.lim.ReservedConnections, KeyTrustCacheClient)
		if !blessed {
			e.Key = KeyTrustCacheClient
		}
		return nil, e
	}
	id.Entitlements = append([]string(nil), id.Entitlements...)
	b.next++
	s := &Session{
		b:         b,
		id:        id,
		tier:      tier,
		num:       b.next,
		reserved:  reserved,
		released:  make(chan struct{}),
		models:    map[uint64]*model{},
		instances: map[uint64]*instance{},
	}
	s.owner = tenant{team: id.TeamID, hash: id.CodeDirectoryHash}
	if b.cfg.PerUser {
		s.owner.uid = id.UID
	}
	if id.TeamID == "" {
		s.owner.session = s.num // callers without a team share nothing
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	b.sessions[s.num] = s
	return s, nil
}

// Close ends every connection and every program, and stops serving.
func (b *Broker) Close() error {
	if b.lockstep != nil {
		b.lockstep.close()
	}
	b.mu.Lock()
	b.closed = true
	var sessions []*Session
	for _, n := range slices.Sorted(maps.Keys(b.sessions)) {
		sessions = append(sessions, b.sessions[n])
	}
	for l := range b.listeners {
		l.Close()
	}
	for c := range b.peers {
		c.Close()
	}
	b.mu.Unlock()
	for _, s := range sessions {
		s.Close()
	}
	return nil
}
