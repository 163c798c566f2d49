package protocol

import "fmt"

// ID is an identifier of the dispatched set, eCSneCmdId in the logger's
// numbering: 0x00 to 0x5c.
type ID uint32

// Invalid is ECSneCmdId_Invalid, the marker of no command.
const Invalid ID = 0xffff_ffff

// Identifiers that the code uses. Rows lists all.
const (
	IDReset            ID = 0x01
	IDEndpointSet      ID = 0x14
	IDEndpointUnset    ID = 0x15
	IDPropertyWrite    ID = 0x1e
	IDPropertyRead     ID = 0x1f
	IDEndpointSet2     ID = 0x29
	IDEndpointUnset2   ID = 0x2a
	IDErrorNote        ID = 0x34
	IDSignpost         ID = 0x36
	IDSignpostGroup    ID = 0x37
	IDResetNote        ID = 0x38
	IDSignpost64       ID = 0x39
	IDSignpost64Group  ID = 0x3a
	IDLoadNote         ID = 0x3b
	IDTileSyncNote     ID = 0x3c
	IDProcedureCall    ID = 0x41
	IDCacheInstall     ID = 0x45
	IDCacheTrigger     ID = 0x46
	IDCacheRecycle     ID = 0x47
	IDCacheInvalidate  ID = 0x48
	IDCallBars         ID = 0x49
	IDPremap           ID = 0x4a
	IDCacheBars        ID = 0x4b
	IDCacheEvents      ID = 0x4c
	IDForceDisable     ID = 0x4d
	IDCallEvents       ID = 0x4e
	IDSetActive        ID = 0x4f
	IDProgramEvent     ID = 0x50
	IDUserEvent        ID = 0x51
	IDDebugEvent       ID = 0x52
	IDChainingEvent    ID = 0x53
	IDPrefetchEvent    ID = 0x54
	IDSecureEvent      ID = 0x55
	IDRequestProgramID ID = 0x56
	IDInferenceCall    ID = 0x5a
	IDBackChannel      ID = 0x5b
)

// Direction says who sends a command.
type Direction uint8

// The directions.
const (
	ToFirmware Direction = iota + 1
	ToHost               // a notification
	Both
)

func (d Direction) String() string {
	switch d {
	case ToFirmware:
		return "host to firmware"
	case ToHost:
		return "firmware to host"
	case Both:
		return "both"
	}
	return "unknown direction"
}

// Disposition says what the firmware does with a command from the host.
type Disposition uint8

// The dispositions.
const (
	// Handled commands are validated and delivered.
	Handled Disposition = iota + 1
	// HostServed commands have no handler in this build: the kernel driver serves them itself. The firmware refuses and
	// counts them.
	HostServed
	// Emitted commands are notifications; posted by the host they are refused
	// and counted.
	Emitted
)

func (d Disposition) String() string {
	switch d {
	case Handled:
		return "handled"
	case HostServed:
		return "refused and counted: the driver serves it"
	case Emitted:
		return "refused and counted: the firmware emits it"
	}
	return "unknown disposition"
}

// WireSource is the source of a wire identifier.
type WireSource uint8

// The sources of a wire identifier.
const (
	// WireStated means that table 30.5 or 30.6 states it.
	WireStated WireSource = iota + 1
	// WirePlace means that the position in the family determines the number: table 30.5 states the family's range,
	// which is full and in the logger's order. Every stated number agrees with this.
	WirePlace
	// WireLeft means the only name and number of a family that remain. The execution loop uses 0x212 for a variant of
	// the procedure call (table 30.6), which contradicts this; ExeLoop has its own row for it.
	WireLeft
)

func (s WireSource) String() string {
	switch s {
	case WireStated:
		return "stated"
	case WirePlace:
		return "from the place in the family"
	case WireLeft:
		return "left over in the family"
	}
	return "unknown source"
}

// Row describes one identifier.
type Row struct {
	ID          ID
	Name        string // without the prefix CSNE_CMD_
	Way         Direction
	Subsystem   string
	Wire        uint16 // ECSneCmdId, the number in the packed enum
	WireSource  WireSource
	Request     *Layout // the body's fixed part and bounds
	Disposition Disposition
	Source      string // of the disposition
}

// String formats the identifier as the command logger does.
func (r *Row) String() string { return fmt.Sprintf("CMD = %s [%s]", hex4(uint32(r.ID)), r.command()) }

// command returns the name with its prefix.
func (r *Row) command() string { return "CSNE_CMD_" + r.Name }

// hex4 is C's %#04x: four characters including the prefix, which zero does not have.
func hex4(v uint32) string {
	if v == 0 {
		return "0000"
	}
	return fmt.Sprintf("0x%02x", v)
}

// Start is the command that exists only in the wire numbering: the packed enum names it, the logger's table does not.
var Start = Row{
	ID:          Invalid,
	Name:        "START",
	Way:         ToFirmware,
	Subsystem:   "lifecycle",
	Wire:        0x0001,
	WireSource:  WirePlace,
	Request:     empty,
	Disposition: Handled,
	Source:      "chapter 29, bring-up",
}

// EndpointTypeName names a value of the endpoint's type. It is among the strings of the commands.
const EndpointTypeName = "CSNE_CMD_IPC_ENDPOINT_TYPE_DATA_CHAINING"

// Numbering is one of the two numberings of the commands.
type Numbering uint8

// The numberings.
const (
	Logger Numbering = iota // 0x00 to 0x5c, as the command logger indexes
	Wire                    // ECSneCmdId, as the packed enum holds
)

var byWire = func() map[uint16]*Row {
	m := map[uint16]*Row{Start.Wire: &Start}
	for i := range Rows {
		m[Rows[i].Wire] = &Rows[i]
	}
	return m
}()

var byName = func() map[string]*Row {
	m := map[string]*Row{Start.Name: &Start}
	for i := range Rows {
		m[Rows[i].Name] = &Rows[i]
	}
	return m
}()

// Row returns the row of an identifier, or nil if the numbering lacks it.
func (n Numbering) Row(id uint32) *Row {
	if n == Wire {
		if id > 0xffff {
			return nil
		}
		return byWire[uint16(id)]
	}
	if id >= uint32(len(Rows)) {
		return nil
	}
	return &Rows[id]
}

// Of returns a row's identifier in the numbering.
func (n Numbering) Of(r *Row) uint32 {
	if n == Wire {
		return uint32(r.Wire)
	}
	return uint32(r.ID)
}

// ByName returns the row of a name without the prefix CSNE_CMD_, or nil.
func ByName(name string) *Row { return byName[name] }
