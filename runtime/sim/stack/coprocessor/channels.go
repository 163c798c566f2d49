package coprocessor

import "fmt"

// Channel is a line of the channel-description table.
type Channel struct {
	Name    string
	Index   int
	Version uint32 // of its ring buffer: RingVersion
	Slots   int
	ToHost  bool
	Ready   bool // the firmware accepts commands on it
}

// channelNames are the inter-process channels that the host resolves, in the
// order of chapter 29. The slots are modelled; a name that ends in T2H goes to
// the host.
var channelNames = []struct {
	name  string
	slots int
	host  bool
}{
	{"SHAREDMALLOC", 16, false},
	{"TERMINAL", 64, true},
	{"BUF_H2T", 64, false},
	{"BUF_T2H", maxReplies, true},
	{"IO", 64, false},
	{"IO_T2H", 256, true},
	{"DEBUG", 16, false},
	{"DATA_CHAIN_H2T", 64, false},
}

// channelTable describes the channels of the rings that the host set up, and refuses rings of another version than the
// firmware's.
func channelTable(version func(string) uint32) ([]Channel, error) {
	out := make([]Channel, len(channelNames))
	for i, c := range channelNames {
		out[i] = Channel{Name: c.name, Index: i, Version: RingVersion, Slots: c.slots, ToHost: c.host}
		if version == nil {
			continue
		}
		if out[i].Version = version(c.name); out[i].Version != RingVersion {
			return nil, fmt.Errorf("channel %s has ring-buffer version %d, want %d", c.name, out[i].Version,
				RingVersion)
		}
	}
	return out, nil
}

// Channels returns the channel-description table of the current boot, nil until the second wake. The control ring is
// IO, the execution loop's DATA_CHAIN_H2T, notifications come on IO_T2H, replies on BUF_T2H, and log lines on TERMINAL.
// (The chapter does not say which ring is which.)
func (d *Device) Channels() []Channel {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.boot == nil {
		return nil
	}
	return append([]Channel(nil), d.boot.channels...)
}
