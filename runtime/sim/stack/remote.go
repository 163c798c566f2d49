package stack

import (
	"context"
	"net"
	"os"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
)

// Dial connects a process to the machine that another process serves on a Unix socket (Stack.Serve). The identity's
// process and user must be the caller's. Only the runtime's options apply.
func Dial(ctx context.Context, socket string, id broker.Identity, qos broker.QoS, o Options) (*Process, error) {
	c, err := broker.Dial(ctx, socket, id)
	if err != nil {
		return nil, err
	}
	p := &Process{o: o, client: c, qos: qos, id: id}
	if k := c.Clock(); k != nil {
		p.seated = &seatClock{k}
	}
	return p, nil
}

// Self returns the identity of this process as an ordinary application: its process and user, the team and the hash
// that stand for its user, and the baseline entitlement with further ones.
func Self(entitlements ...string) broker.Identity {
	id := Application(os.Getuid())
	id.PID, id.UID = os.Getpid(), os.Getuid()
	id.Entitlements = append(id.Entitlements, entitlements...)
	return id
}

// Serve accepts processes on a listener until it is closed or the machine is.
func (s *Stack) Serve(l net.Listener) error { return s.Broker.Serve(l) }

// device describes the device below the broker.
func (s *Stack) device() broker.DeviceStatus {
	d, cop := s.Device, s.Device.Coprocessor()
	stats := cop.Stats()
	out := broker.DeviceStatus{
		Now:         d.Clock().Now(),
		State:       cop.LoopState().String(),
		Powered:     cop.PMU(coprocessor.PMUBase) != 0,
		Load:        cop.Load(),
		Recoveries:  d.Recoveries(),
		Boots:       stats.Boots,
		Calls:       stats.Calls,
		Tasks:       stats.Tasks,
		Faults:      stats.Faults,
		FramesInUse: int(d.Unit().Stats().FramesInUse),
	}
	for i, w := range d.Scheduler().Waiting {
		out.Waiting[i] = w.Total - w.Available
	}
	for _, p := range cop.Pools() {
		out.Pools = append(out.Pools, broker.Pool{Name: p.Name, Total: p.Total, Available: p.Available})
	}
	return out
}
