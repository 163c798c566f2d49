package broker

import (
	"cmp"
	"fmt"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
)

// QoS is the quality-of-service class that every compile, load and instantiate
// method takes. Zero means QoSDefault.
type QoS uint32

// The classes. The five application classes have the numbers of the system's
// thread classes (table 27.6 shows 21); the numbers of the other three are
// modelled.
const (
	QoSBackground      QoS = 9
	QoSUtility         QoS = 17
	QoSDefault         QoS = 21
	QoSUserInitiated   QoS = 25
	QoSUserInteractive QoS = 33
	QoSRealTime        QoS = 0x40 // modelled number
	QoSSystemRealTime  QoS = 0x41 // modelled: priority 1
	QoSSystemReserved  QoS = 0x42 // modelled: priority 0
)

// QoSClass is a row of the table of classes.
type QoSClass struct {
	QoS      QoS
	Name     string
	Priority int // program priority: 0 and 1 the system's band, 2 to 7 the applications'
	// Keys are entitlements. The caller must hold one of them, unless there are none.
	Keys []string
	// Restricted classes are refused to the unrestricted tier.
	Restricted bool
	Source     string
}

// The keys of table 27.7 that the classes above user-interactive need. The driver owns that table; the broker checks
// them for its callers, because the driver sees only the broker's own task.
var (
	keySystemPriorities = kernelKey("systemReservedPriorities")
	keyRealTime         = kernelKey("realtimePriority")
)

// QoSClasses maps classes to priorities, most urgent first.
var QoSClasses = []QoSClass{
	{QoS: QoSSystemReserved, Name: "system-reserved", Priority: 0, Keys: []string{keySystemPriorities},
		Restricted: true, Source: "tables 27.7, 29.6 and 30.2; number modelled"},
	{QoS: QoSSystemRealTime, Name: "system real-time", Priority: 1, Keys: []string{keyRealTime,
		keySystemPriorities}, Restricted: true, Source: "tables 27.7 and 30.2; number modelled"},
	{QoS: QoSRealTime, Name: "real-time", Priority: 2, Keys: []string{keyRealTime}, Restricted: true,
		Source: "public interfaces: priority and queue 2, only restricted connections; number modelled"},
	{QoS: QoSUserInteractive, Name: "user-interactive", Priority: 3, Restricted: false,
		Source: "public interfaces: priorities below 4 run as class 33"},
	{QoS: QoSUserInitiated, Name: "user-initiated", Priority: 4, Restricted: false,
		Source: "public interfaces: the class of priority 4"},
	{QoS: QoSDefault, Name: "default", Priority: 5, Restricted: false,
		Source: "table 27.6 shows the pair (5, 21)"},
	{QoS: QoSUtility, Name: "utility", Priority: 6, Restricted: false,
		Source: "public interfaces: the class of priority 6"},
	{QoS: QoSBackground, Name: "background", Priority: 7, Restricted: false,
		Source: "modelled: the last level"},
}

// class finds the row of a class.
func (q QoS) class() (*QoSClass, bool) {
	q = cmp.Or(q, QoSDefault)
	for i := range QoSClasses {
		if QoSClasses[i].QoS == q {
			return &QoSClasses[i], true
		}
	}
	return nil, false
}

// String returns the name of the class.
func (q QoS) String() string {
	if c, ok := q.class(); ok {
		return c.Name
	}
	return fmt.Sprintf("class %d", uint32(q))
}

// QueueIndex returns the hardware queue of a class, or of QoSDefault if the class is not in the table.
func QueueIndex(q QoS) int { return firmware.QueueOf(ProgramPriority(q)) }

// ProgramPriority returns the program priority of a class, 0 to 7 with 0 the most urgent, or the priority of QoSDefault
// if the class is not in the table.
func ProgramPriority(q QoS) int {
	if c, ok := q.class(); ok {
		return c.Priority
	}
	return ProgramPriority(QoSDefault)
}
