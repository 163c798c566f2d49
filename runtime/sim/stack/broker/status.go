package broker

import (
	"cmp"
	"encoding/hex"
	"slices"
	"time"
)

// Status is what the daemon does at a moment.
type Status struct {
	Clients    []ClientStatus  `json:"clients"`     // by number
	Programs   []ProgramStatus `json:"programs"`    // by identifier
	QueueSlots int             `json:"queue_slots"` // granted to instances
	WiredBytes int64           `json:"wired_bytes"` // of prepared programs
	CacheBytes int64           `json:"cache_bytes"` // of compiled models
	Device     DeviceStatus    `json:"device"`      // below the broker
}

// Lists returns the status with empty lists instead of none, as documents have them.
func (s *Status) Lists() *Status {
	x := *s
	x.Clients = append([]ClientStatus{}, s.Clients...)
	x.Programs = append([]ProgramStatus{}, s.Programs...)
	x.Device.Pools = append([]Pool{}, s.Device.Pools...)
	return &x
}

// ClientStatus is a connection.
type ClientStatus struct {
	Number    uint64 `json:"number"`    // of the connection
	PID       int    `json:"pid"`       // process
	UID       int    `json:"uid"`       // user
	Team      string `json:"team"`      // as it claims
	Tier      string `json:"tier"`      // of its entitlements
	Requests  uint64 `json:"requests"`  // so far
	Models    int    `json:"models"`    // that it has loaded
	Instances int    `json:"instances"` // of its models
	Bytes     int64  `json:"bytes"`     // of its programs' containers
}

// ProgramStatus is a resident program.
type ProgramStatus struct {
	Resident uint64 `json:"resident"` // identifier
	Digest   string `json:"digest"`   // the first bytes of the container's SHA-256
	Bytes    int64  `json:"bytes"`    // of the container
	Holders  int    `json:"holders"`  // instances that use it
	Adapter  bool   `json:"adapter"`  // shares the program of another model
	Wired    bool   `json:"wired"`    // its memory is prepared
}

// DeviceStatus is the device below the broker.
type DeviceStatus struct {
	Now         time.Duration `json:"now_ns"`        // virtual
	State       string        `json:"state"`         // of the firmware's execution loop
	Powered     bool          `json:"powered"`       // the engine has power
	Load        int           `json:"load_percent"`  // percent of virtual time
	Recoveries  int           `json:"recoveries"`    // from faults
	Boots       uint64        `json:"boots"`         // of the firmware
	Calls       uint64        `json:"calls"`         // of procedures
	Tasks       uint64        `json:"tasks"`         // that ran
	Faults      uint64        `json:"faults"`        // of the engine
	FramesInUse int           `json:"frames_in_use"` // of memory
	Waiting     [8]int        `json:"waiting"`       // requests at the command gate, by priority
	Pools       []Pool        `json:"pools"`         // of the firmware
}

// Pool is one of the firmware's fixed pools.
type Pool struct {
	Name      string `json:"name"`      // of the pool
	Total     int    `json:"total"`     // entries
	Available int    `json:"available"` // entries that are free
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
