package driver

// Entitlement is a key that the driver reads from a task when it creates a client.
type Entitlement struct {
	Key        string
	Field      string // of ANEClientInfo
	Capability string
	Source     string
	flag       func(i *ANEClientInfo) *bool
}

// UserAccess is the hard gate: it opens the control and the direct-path client.
const UserAccess = "com.apple.ane.iokit-user-access"

// Entitlements lists the keys in the order in which the driver reads them: the two open gates (listing 27.6), then
// table 27.7. The chapter names the first two fields; the names of the others are modelled.
var Entitlements = []Entitlement{
	{Key: UserAccess, Field: "isPrivileged", Capability: "open the user client", Source: "listing 27.6",
		flag: func(i *ANEClientInfo) *bool { return &i.IsPrivileged }},
	{Key: "com.apple.ane.allow-dataChaining-access", Field: "allowDataChaining", Capability: "resident data chaining",
		Source: "listing 27.6", flag: func(i *ANEClientInfo) *bool { return &i.AllowDataChaining }},
	{Key: "com.apple.ane.realtime-priority-client", Field: "realtimePriority",
		Capability: "the real-time-priority client grant", Source: "table 27.7",
		flag: func(i *ANEClientInfo) *bool { return &i.RealtimePriority }},
	{Key: "com.apple.ane.allow-system-reserved-priorities", Field: "systemReservedPriorities",
		Capability: "use of the system-reserved scheduling priorities", Source: "table 27.7",
		flag: func(i *ANEClientInfo) *bool { return &i.SystemReservedPriorities }},
	{Key: "com.apple.ane.memory", Field: "memoryAccess", Capability: "a memory-access grant", Source: "table 27.7",
		flag: func(i *ANEClientInfo) *bool { return &i.MemoryAccess }},
	{Key: "com.apple.ane.allow-data", Field: "dataAccess", Capability: "a data-access grant", Source: "table 27.7",
		flag: func(i *ANEClientInfo) *bool { return &i.DataAccess }},
	{Key: "com.apple.private.ane.allow-set-client-hints", Field: "setClientHints", Capability: "set per-client hints",
		Source: "table 27.7", flag: func(i *ANEClientInfo) *bool { return &i.SetClientHints }},
	{Key: "com.apple.private.ane.allow-share-coalition-hints", Field: "shareCoalitionHints",
		Capability: "share hints across a coalition", Source: "table 27.7",
		flag: func(i *ANEClientInfo) *bool { return &i.ShareCoalitionHints }},
}

// ANEClientInfo contains the properties of a client, which the driver reads once, when it creates the client.
type ANEClientInfo struct {
	PID               int
	TeamID            string
	CodeDirectoryHash [20]byte

	IsPrivileged             bool
	AllowDataChaining        bool
	RealtimePriority         bool
	SystemReservedPriorities bool
	MemoryAccess             bool
	DataAccess               bool
	SetClientHints           bool
	ShareCoalitionHints      bool
	// PrivilegedVMAccess is the second access check, which is a property and not an entitlement (chapter 27, after
	// table 27.5).
	PrivilegedVMAccess bool

	id identity
}

// newClientInfo is ANEClientInfo::create: it reads each entitlement once.
func newClientInfo(t *Task) ANEClientInfo {
	id := t.identity()
	info := ANEClientInfo{
		PID:                t.PID,
		TeamID:             id.team,
		CodeDirectoryHash:  id.hash,
		PrivilegedVMAccess: t.PrivilegedVMAccess,
		id:                 id,
	}
	for i := range Entitlements {
		*Entitlements[i].flag(&info) = t.Holds(Entitlements[i].Key)
	}
	return info
}
