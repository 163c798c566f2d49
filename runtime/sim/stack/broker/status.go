package broker

import (
	"cmp"
	"encoding/hex"
	"slices"
	"time"
)

// Status is what the daemon does at a moment.
type Status struct {
	Clients    []ClientStatus  // by number
	Programs   []ProgramStatus // by identifier
	QueueSlots int             // granted to instances
	WiredBytes int64           // of prepared programs
	CacheBytes int64           // of compiled models
	Device     DeviceStatus
}

// ClientStatus is a connection.
type ClientStatus struct {
	Number    uint64
	PID, UID  int
	Team      string
	Tier      string
	Requests  uint64
	Models    int
	Instances int
	Bytes     int64 // of its programs' containers
}

// ProgramStatus is a resident program.
type ProgramStatus struct {
	Resident uint64
	Digest   string // the first bytes of the container's SHA-256
	Bytes    int64
	Holders  int
	Adapter  bool
	Wired    bool // its memory is prepared
}

// DeviceStatus is the device below the broker.
type DeviceStatus struct {
	Now         time.Duration // virtual
	State       string        // of the firmware's execution loop
	Powered     bool
	Load        int // percent of virtual time
	Recoveries  int
	Boots       uint64
	Calls       uint64
	Tasks       uint64
	Faults      uint64
	FramesInUse int
	Waiting     [8]int // requests at the command gate, by priority
	Pools       []Pool
}

// Pool is one of the firmware's fixed pools.
type Pool struct {
	Name             string
	Total, Available int
}

// Status describes the broker. The device is empty unless Config.Device describes it.
func (b *Broker) Status() Status {
	b.mu.Lock()
	var st Status
	for _, s := range b.sessions {
		st.Clients = append(st.Clients, ClientStatus{
			Number:    s.num,
			PID:       s.id.PID,
			UID:       s.id.UID,
			Team:      s.id.TeamID,
			Tier:      s.tier.String(),
			Requests:  s.requests,
			Models:    len(s.models),
			Instances: len(s.instances),
			Bytes:     s.bytes,
		})
	}
	for id, r := range b.byID {
		st.Programs = append(st.Programs, ProgramStatus{
			Resident: id,
			Digest:   hex.EncodeToString(r.key.digest[:6]),
			Bytes:    int64(len(r.container)),
			Holders:  r.holders,
			Adapter:  r.base != nil,
			Wired:    r.wired,
		})
	}
	st.QueueSlots, st.WiredBytes, st.CacheBytes = b.slots, b.wired, b.cache.bytes
	b.mu.Unlock()
	slices.SortFunc(st.Clients, func(x, y ClientStatus) int { return cmp.Compare(x.Number, y.Number) })
	slices.SortFunc(st.Programs, func(x, y ProgramStatus) int { return cmp.Compare(x.Resident, y.Resident) })
	if b.cfg.Device != nil {
		st.Device = b.cfg.Device()
	}
	return st
}
