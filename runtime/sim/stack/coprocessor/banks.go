package coprocessor

// Bank is one of the seven register apertures that the kernel maps.
type Bank uint8

// The banks, in the order in which they are constructed.
const (
	ANE Bank = iota
	PS
	PWGATE
	PTD
	ANEHAL1
	ANEHAL2
	ANEHAL3
	NumBanks = iota
)

// BankRow is a row of table 29.2.
type BankRow struct {
	Order int // from 1
	Bank  Bank
	Name  string
	Role  string
	// Index is the device-tree reg index of the aperture: a base and three successive offsets (the base is modelled).
	// The driver has the indices of ANEHAL, by family.
	Index int
	Size  uint32 // bytes, modelled
}

// Banks are the seven apertures of table 29.2.
var Banks = [NumBanks]BankRow{
	{Order: 1, Bank: ANE, Name: "ANE", Role: "main control aperture, holding the scratch registers and the " +
		"reset-vector register", Index: 0, Size: 0x40000},
	{Order: 2, Bank: PS, Name: "PS", Role: "power-state", Index: 1, Size: 0x4000},
	{Order: 3, Bank: PWGATE, Name: "PWGATE", Role: "power-gate", Index: 2, Size: 0x4000},
	{Order: 4, Bank: PTD, Name: "PTD", Role: "page-table and translation-domain control", Index: 3, Size: 0x4000},
	{Order: 5, Bank: ANEHAL1, Name: "ANEHAL1", Role: "hardware-abstraction register aperture", Size: 0x4000},
	{Order: 6, Bank: ANEHAL2, Name: "ANEHAL2", Role: "hardware-abstraction register aperture", Size: 0x4000},
	{Order: 7, Bank: ANEHAL3, Name: "ANEHAL3", Role: "hardware-abstraction register aperture", Size: 0x4000},
}

// String names the bank.
func (b Bank) String() string {
	if b < NumBanks {
		return Banks[b].Name
	}
	return "unknown bank"
}

// Registers of the banks. The names of the scratch registers and of RVBAR are
// chapter 29's; all offsets, and the registers without a source, are modelled.
const (
	RegScratch  = 0x1000 // ANE: eight scratch mailbox registers, four bytes apart
	RegRVBAR    = 0x1050 // ANE: rANE_H11_CHINOOK_IO_RVBAR, low word; high word after it
	RegCPU      = 0x1060 // ANE: 1 releases the controller from reset, 0 holds it in reset
	RegDoorbell = 0x1100 // ANE: the host's doorbell; a mask of 1 << index
	RegIRQ      = 0x1104 // ANE: 1 enables the interrupts to the host
	RegPower    = 0x0000 // PS: 1 powers the device on, 0 off, which loses all state
	RegClock    = 0x0004 // PS: 1 brings the clock to its full rate
	RegArm      = 0x0000 // ANEHAL1: 1 clears and starts the performance counters, 0 stops them
	RegSaved    = 0x0000 // ANEHAL2: state of the execution loop when the controller lost power, which it keeps
	RegCapture  = 0x0004 // ANEHAL2: exception class and task of the last fault, which a reset and a loss of power keep
	RegCounters = 0x0010 // ANEHAL1: the counters, four bytes apart
	RegGate     = 0x0000 // PWGATE: 1 opens the gate
	RegStream   = 0x0000 // PTD: enables a translation stream, four bytes apart

	NumScratch = 8
)

// RegisterValid marks what was saved or captured; without it nothing was (modelled, as the fields of both registers).
const RegisterValid = 1 << 31

// Scratch returns the offset of a scratch register in bank ANE.
func Scratch(i int) uint32 { return RegScratch + 4*uint32(i) }

// Doorbell indices of the host's doorbell register, modelled.
const (
	BellControl = 0 // messages in the control ring
	BellLoop    = 1 // messages in the execution loop's ring
)
