package stack

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
)

// A load is replayed as a discrete-event simulation in one goroutine: arrivals are timers of the device's clock, and a
// request that arrives while another runs waits at the driver's command gate. Clients bind and hand over on processors
// of their own, so only the requests themselves are serialised. Host speed has no influence.

// LoadClass is a class of clients that behave alike.
type LoadClass struct {
	Name      string
	Clients   int
	QoS       broker.QoS
	Container []byte
	// Adapters are containers that differ from Container in coefficients. If there are any, the clients take them in
	// turn, each as an adapter of the resident Container.
	Adapters [][]byte
	// Team is the identity of the clients, who share resident programs with other clients of it. If it is "", each
	// client is of a team of its own.
	Team string
	// Rate is the mean number of requests of one client in a second of virtual time; the times between two are
	// exponentially distributed. Zero means that a client sends the next request when it has the answer to the last,
	// after Think.
	Rate  float64
	Think time.Duration
	// Requests is the number of requests of one client.
	Requests int
	// Tier is the clients' tier, as broker.Identity.InTier takes it.
	Tier string
	// Entitlements are the clients' keys besides the baseline and the key of the direct path, on which they submit.
	Entitlements []string
	// QueueDepth is the number of requests of one client that may be under way at once; 0 means 1. A client with a
	// think time has one.
	QueueDepth int
}

// Load describes a load.
type Load struct {
	Classes []LoadClass
	Seed    uint64
	// Kills is the number of clients whose connection ends in the middle of their work, at random.
	Kills int
	// Retries is the number of times that a client repeats a request that failed.
	Retries int
}

// Latency summarises the requests of a class.
type Latency struct {
	Name      string
	Priority  int
	Sent      int // first attempts
	Completed int
	Retried   int
	Failed    int // requests that failed more often than Load.Retries
	Wrong     int // completed requests whose outputs differ from the engine's alone
	Killed    int // clients
	// Percentiles of the time from a request's arrival to the answer, in virtual time.
	P50, P90, P99, Max time.Duration
}

// LoadResult is what a load has shown.
type LoadResult struct {
	Classes []Latency
	Took    time.Duration // virtual
	Aborted uint64        // runs of calls that were preempted
	Spent   Spent         // of it
}

// maxLoadClients bounds the clients of a load: the device has as many translation streams.
const maxLoadClients = 100

// check returns an error for a load that cannot be replayed.
func (l *Load) check() error {
	n := 0
	for i, c := range l.Classes {
		switch {
		case c.Clients < 1 || c.Requests < 1 || c.Requests > 1<<24:
			return fmt.Errorf("class %d: got %d clients and %d requests of each, want at least 1 and at most %d", i,
				c.Clients, c.Requests, 1<<24)
		case c.Rate < 0 || math.IsNaN(c.Rate) || c.Rate > 1e6 || c.Think < 0 || c.Think > time.Hour:
			return fmt.Errorf("class %d: rate %g and think time %v, want 0 to 1e6 and 0s to 1h", i, c.Rate, c.Think)
		case c.QueueDepth < 0 || c.QueueDepth > driver.MaxQueueDepth:
			return fmt.Errorf("class %d: queue depth %d, want 0 to %d", i, c.QueueDepth, driver.MaxQueueDepth)
		}
		n += c.Clients
		if n > maxLoadClients {
			return fmt.Errorf("the load has more than %d clients", maxLoadClients)
		}
	}
	if n == 0 || l.Kills < 0 || l.Kills > n || l.Retries < 0 || l.Retries > 100 {
		return fmt.Errorf("got %d clients, %d kills and %d retries; want at least 1 client, at most as many kills, "+
			"and 0 to 100 retries", n, l.Kills, l.Retries)
	}
	return nil
}

// loadClient is a client of a load.
type loadClient struct {
	id      int
	class   *LoadClass
	lat     *Latency
	times   *[]time.Duration
	rand    *rand.Rand
	session *broker.Session
	direct  *broker.Direct
	port    *driver.WakePort
	request *driver.Request
	outputs [][]byte      // of the request
	want    [][]byte      // what the engine alone writes to them
	before  time.Duration // of the client's own work before a request
	left    int           // requests to send
	dead    bool

	depth   int       // requests that may be under way at once
	flying  []attempt // requests that wait for their answers, which come in the same order
	backlog []attempt // requests behind them, in the client; oldest first
}

// attempt is a request on its way.
type attempt struct {
	arrived time.Duration
	tries   int
}

// arrival is a request that enters the driver at a time.
type arrival struct {
	at     time.Duration
	order  uint64
	client *loadClient
	attempt
}

// arrivals is a heap by time, then by order.
type arrivals []arrival

func (a arrivals) Len() int { return len(a) }
func (a arrivals) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(a[i].at, a[j].at), cmp.Compare(a[i].order, a[j].order)) < 0
}
func (a arrivals) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *arrivals) Push(x any)   { *a = append(*a, x.(arrival)) }
func (a *arrivals) Pop() any {
	old := *a
	x := old[len(old)-1]
	*a = old[:len(old)-1]
	return x
}

// replay is a load under way.
type replay struct {
	s       *Stack
	load    *Load
	ctx     context.Context
	clients []*loadClient
	coming  arrivals
	order   uint64
	limit   time.Duration   // no arrival enters after it
	timer   *firmware.Timer // for the first request that comes; nil for none
	armed   time.Duration   // when it fires
	err     error
}

// Replay runs a load on the machine and returns the latencies of its classes.
func (s *Stack) Replay(ctx context.Context, l *Load) (*LoadResult, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	r := &replay{s: s, load: l, ctx: ctx}
	out := &LoadResult{Classes: make([]Latency, len(l.Classes))}
	times := make([][]time.Duration, len(l.Classes))
	defer func() {
		for _, c := range r.clients {
			c.close()
		}
	}()
	for i := range l.Classes {
		class := &l.Classes[i]
		out.Classes[i].Name, out.Classes[i].Priority = class.Name, broker.ProgramPriority(class.QoS)
		for turn := range class.Clients {
			c, err := r.client(class, turn)
			if err != nil {
				return nil, fmt.Errorf("class %q: %w", class.Name, err)
			}
			c.lat, c.times = &out.Classes[i], &times[i]
			r.clients = append(r.clients, c)
		}
	}
	clock := s.Device.Clock()
	began, spent := clock.Now(), clock.Spent()
	for _, c := range r.clients {
		r.next(c, began)
	}
	if err := r.run(); err != nil {
		return nil, err
	}
	out.Took, out.Spent = clock.Now()-began, clock.Spent().Sub(spent)
	out.Aborted = s.Device.Coprocessor().Stats().Preempted
	for i := range out.Classes {
		out.Classes[i].percentiles(times[i])
	}
	return out, nil
}

func (l *Latency) percentiles(times []time.Duration) {
	slices.Sort(times)
	at := func(q float64) time.Duration {
		if len(times) == 0 {
			return 0
		}
		return times[min(int(math.Ceil(q*float64(len(times)))), len(times))-1]
	}
	l.P50, l.P90, l.P99, l.Max = at(.5), at(.9), at(.99), at(1)
}

// client connects a client: the broker makes its model resident and gives it the handle, with which it submits on its
// own connection to the driver. turn is the client's number in its class.
func (r *replay) client(class *LoadClass, turn int) (_ *loadClient, err error) {
	n := len(r.clients)
	id := Application(1000 + n)
	id.Entitlements = slices.Concat(id.Entitlements, []string{broker.KeyDirectPath}, class.Entitlements)
	if class.Team != "" {
		id.TeamID, id.CodeDirectoryHash = class.Team, [20]byte{}
		copy(id.CodeDirectoryHash[:], class.Team)
	}
	if err := id.InTier(class.Tier); err != nil {
		return nil, err
	}
	c := &loadClient{id: n, class: class, left: class.Requests, rand: rand.New(rand.NewPCG(r.load.Seed, uint64(n)))}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if c.session, err = r.s.Broker.Connect(id); err != nil {
		return nil, err
	}
	instance := broker.InstanceRequest{QoS: class.QoS, QueueDepth: max(class.QueueDepth, 1)}
	container := class.Container
	var run *broker.Runner
	if len(class.Adapters) > 0 {
		container = class.Adapters[turn%len(class.Adapters)]
		run, err = broker.OpenAdapter(r.ctx, c.session, class.Container, container, instance)
	} else {
		load := broker.LoadRequest{Container: class.Container, QoS: class.QoS}
		run, err = broker.Open(r.ctx, c.session, load, instance)
	}
	if err != nil {
		return nil, err
	}
	task := &driver.Task{
		PID:               id.PID,
		TeamID:            id.TeamID,
		CodeDirectoryHash: id.CodeDirectoryHash,
		Entitlements:      id.Entitlements,
	}
	c.depth = run.Instance().QueueDepth // granted
	path := broker.DirectPathRequest{Instance: run.Instance().Instance, QoS: class.QoS}
	if c.direct, err = c.session.OpenDirectConnection(r.ctx, path, task); err != nil {
		return nil, err
	}
	if err := c.prepare(r.ctx, container, task, r.s.o); err != nil {
		return nil, err
	}
	c.port = driver.NewWakePort(func(m driver.Completion) { r.completed(c, m) })
	return c, nil
}

// prepare builds the client's request, with inputs of its own, and runs it on the engine alone to learn what its
// outputs must be.
func (c *loadClient) prepare(ctx context.Context, container []byte, task *driver.Task, o Options) error {
	m, err := sim.Open(pair.Pair{Container: container})
	if err != nil {
		return err
	}
	prog, err := loader.Read(container)
	if err != nil {
		return err
	}
	c.request = &driver.Request{
		Handle:   c.direct.Program,
		Priority: uint32(broker.ProgramPriority(c.class.QoS)),
		Timeout:  time.Hour,
	}
	proc := &prog.Procedures()[0]
	surfaces := map[string][]byte{}
	var in, out int64
	for _, port := range proc.Ports {
		if port.Output {
			out += int64(port.Size)
		} else {
			in += int64(port.Size)
		}
	}
	if err := room(in + out); err != nil {
		return err
	}
	for _, port := range proc.Ports {
		b := make([]byte, port.Size)
		surfaces[port.Name] = b
		if port.Output {
			c.outputs = append(c.outputs, b)
			c.request.Outputs = append(c.request.Outputs, task.CreateSurface(b))
			continue
		}
		for i := 0; i+1 < len(b); i += 2 {
			binary.LittleEndian.PutUint16(b[i:], uint16(c.rand.UintN(0x3c00))) // fp16 numbers from 0 to 1
		}
		c.request.Inputs = append(c.request.Inputs, task.CreateSurface(b))
	}
	alone := sim.Options{Numerics: sim.Mode(o.Numerics), Workers: o.Workers}
	if err := m.Infer(ctx, proc.Name, surfaces, alone); err != nil {
		return err
	}
	for _, b := range c.outputs {
		c.want = append(c.want, slices.Clone(b))
		clear(b)
	}
	c.before = time.Duration(cost.Bind.Fixed() + cost.Handing(in, out, cost.Simulated))
	return nil
}

// right reports whether the outputs are what they must be, and overwrites them, so that the next request cannot pass
// with them.
func (c *loadClient) right() bool {
	ok := true
	for i, b := range c.outputs {
		ok = ok && slices.Equal(b, c.want[i])
		clear(b)
	}
	return ok
}

// close ends the client's connections.
func (c *loadClient) close() {
	if c.direct != nil {
		_ = c.direct.Close() // what it had ends with it
	}
	if c.session != nil {
		_ = c.session.Close()
	}
	c.direct, c.session = nil, nil
}

// next schedules the next request of a client whose last one came at a time.
func (r *replay) next(c *loadClient, from time.Duration) {
	if c.left == 0 || c.dead {
		return
	}
	c.left--
	c.lat.Sent++
	if c.class.Rate > 0 {
		from += time.Duration(c.rand.ExpFloat64() / c.class.Rate * float64(time.Second))
	} else {
		from += c.class.Think
	}
	r.enter(c, attempt{arrived: from}, from+c.before)
}

// enter puts a request among those that come.
func (r *replay) enter(c *loadClient, a attempt, at time.Duration) {
	r.order++
	heap.Push(&r.coming, arrival{at: at, order: r.order, client: c, attempt: a})
}

// run lets time pass until all requests have their answers. Clients are killed at random times: no arrival enters after
// the time until the gate is free, so that their connections can end.
func (r *replay) run() error {
	rng := rand.New(rand.NewPCG(r.load.Seed, 1<<32))
	kills := make([]int, r.load.Kills) // after how many arrivals
	total := 0
	for _, c := range r.clients {
		total += c.class.Requests
	}
	for i := range kills {
		kills[i] = rng.IntN(max(total, 1))
	}
	slices.Sort(kills)
	for r.coming.Len() > 0 && r.err == nil {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		r.limit = math.MaxInt64
		if len(kills) > 0 {
			// The arrival that a kill falls on is not known before it comes, so time is cut into short parts.
			r.limit = r.coming[0].at + 10*time.Millisecond
		}
		clock := r.s.Device.Clock()
		if at := r.coming[0].at; at > clock.Now() {
			r.arm()
			if err := r.s.Device.Elapse(cost.Waiting, at-clock.Now()); err != nil {
				return err
			}
		} else if err := r.s.Device.Call(r.due); err != nil {
			return err
		}
		sent := 0
		for _, c := range r.clients {
			sent += c.lat.Sent
		}
		for len(kills) > 0 && kills[0] < sent {
			kills = kills[1:]
			r.kill(rng)
		}
	}
	return r.err
}

// kill ends a client that has work left.
func (r *replay) kill(rng *rand.Rand) {
	var alive []*loadClient
	for _, c := range r.clients {
		if !c.dead && c.left > 0 {
			alive = append(alive, c)
		}
	}
	if len(alive) == 0 {
		return
	}
	c := alive[rng.IntN(len(alive))]
	c.dead = true
	c.lat.Killed++
	c.close()
	r.coming = slices.DeleteFunc(r.coming, func(a arrival) bool { return a.client == c })
	heap.Init(&r.coming)
}

// arm sets a timer for the first request that comes.
func (r *replay) arm() {
	clock := r.s.Device.Clock()
	if r.coming.Len() == 0 || r.err != nil {
		return
	}
	at := r.coming[0].at
	if r.timer != nil && r.armed <= at {
		return
	}
	if r.timer != nil {
		clock.Stop(r.timer)
		r.timer = nil
	}
	if at > r.limit {
		return
	}
	wait := max(at-clock.Now(), 1)
	r.armed = clock.Now() + wait
	r.timer, r.err = clock.After(wait, r.due)
}

// due sends the requests whose time has come. The command gate is held, so they wait there, or the one that is first
// runs when the gate's owner has finished.
func (r *replay) due() {
	if r.timer != nil {
		r.s.Device.Clock().Stop(r.timer) // if it has not fired
		r.timer = nil
	}
	now := r.s.Device.Clock().Now()
	for r.coming.Len() > 0 && r.coming[0].at <= now && r.err == nil {
		a := heap.Pop(&r.coming).(arrival)
		c := a.client
		if c.dead {
			continue
		}
		if c.class.Rate > 0 && a.tries == 0 {
			r.next(c, a.arrived)
		}
		c.backlog = append(c.backlog, a.attempt)
		r.send(c)
	}
	r.arm()
}

// send submits a client's oldest requests, as many as may be under way.
func (r *replay) send(c *loadClient) {
	for len(c.flying) < c.depth && len(c.backlog) > 0 && !c.dead {
		a := c.backlog[0]
		c.backlog = c.backlog[1:]
		c.flying = append(c.flying, a)
		var ref [driver.ReferenceSize]byte
		if err := c.direct.SendRequestAsync(c.request, c.port, ref); err != nil {
			c.flying = c.flying[:len(c.flying)-1]
			r.failed(c, a)
		}
	}
}

// completed takes an answer.
func (r *replay) completed(c *loadClient, m driver.Completion) {
	a := c.flying[0]
	c.flying = c.flying[1:]
	now := r.s.Device.Clock().Now()
	if m.Result != driver.Success {
		r.failed(c, a)
		r.send(c)
		return
	}
	c.lat.Completed++
	if !c.right() {
		c.lat.Wrong++
	}
	*c.times = append(*c.times, now+time.Duration(cost.Return.Fixed())-a.arrived)
	if c.class.Rate == 0 {
		r.next(c, now+time.Duration(cost.Return.Fixed()))
	}
	r.send(c)
	r.arm()
}

// failed repeats a request, or gives it up after the load's retries.
func (r *replay) failed(c *loadClient, a attempt) {
	now := r.s.Device.Clock().Now()
	if a.tries++; a.tries > r.load.Retries {
		c.lat.Failed++
		if c.class.Rate == 0 {
			r.next(c, now)
		}
		r.arm()
		return
	}
	c.lat.Retried++
	r.enter(c, a, now+c.before)
	r.arm()
}
