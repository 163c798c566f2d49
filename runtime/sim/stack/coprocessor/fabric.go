package coprocessor

// FabricBit is a row of table 29.5: a bit of S3_3_C15_C8_0, the
// implementation-defined fabric system register.
type FabricBit struct {
	Bit  uint
	Name string
	Role string
}

// FabricBits are the decoded bits (table 29.5).
var FabricBits = []FabricBit{
	{0, "path enable", "fabric-path enable, cleared with bits 2 and 4 on the power-gate path"},
	{1, "L2C error", "uncorrectable last-level-cache error, read-only and sticky"},
	{2, "link status", "fabric-link status, must be 1 for the power-gate condition"},
	{4, "secondary status", "fabric-link secondary status, must be 0 for the power-gate condition"},
	{7, "transaction reject", "transaction-reject status, clearable on a rejected doorbell"},
	{39, "doorbell window", "doorbell-window arm and disarm: clear opens the store window, set closes it"},
}

const (
	fabricEnable    = 1 << 0
	fabricL2C       = 1 << 1
	fabricLink      = 1 << 2
	fabricSecondary = 1 << 4
	fabricReject    = 1 << 7
	fabricWindow    = 1 << 39
)

// Accesses of the doorbell sequence besides those to the system register.
const (
	opMask   = "DAIFSet #0x2"
	opStore  = "str"
	opUnmask = "restore_irq"
)

// fabric is S3_3_C15_C8_0 and the fabric it controls.
type fabric struct {
	value   uint64
	masked  bool   // interrupts are masked, DAIFSet #0x2
	pending uint64 // status that a barrier commits
	// see, if not nil, is called with each access in order, and with the register's value after it or, for the store,
	// its own.
	see func(op string, v uint64)
}

// linkUp is the register's value when the link gets power.
const linkUp = fabricEnable | fabricLink | fabricWindow

// up sets the register when the link gets power.
func (f *fabric) up(v uint64) { f.value, f.masked = v, false }

func (f *fabric) note(op string, v uint64) {
	if f.see != nil {
		f.see(op, v)
	}
}

func (f *fabric) mrs() uint64 { f.note("mrs", f.value); return f.value }

// msr writes the register: bit 1 cannot be set by software, and clearing it and
// bit 7 clears the sticky status.
func (f *fabric) msr(v uint64) {
	f.value = v&^fabricL2C | v&f.value&fabricL2C
	f.note("msr", f.value)
}

// barrier is dsb sy ; isb: the store commits and its status is latched.
func (f *fabric) barrier() {
	f.value |= f.pending
	f.pending = 0
	f.note("dsb sy ; isb", f.value)
}

// gate is the power-gate path: it reads the link's status and clears the path if bit 2 is set and bit 4 clear.
// Otherwise the link stays up.
func (f *fabric) gate() bool {
	v := f.mrs()
	if v&fabricLink == 0 || v&fabricSecondary != 0 {
		return false
	}
	f.msr(v &^ (fabricEnable | fabricLink | fabricSecondary))
	return true
}

// ringDoorbell is the guarded sequence of listing 29.3. It returns 1 if the transaction was rejected and must be
// retried. After a fatal, uncorrectable error the window stays open and interrupts stay masked.
func (f *fabric) ringDoorbell(reg uint64, value uint32, store func(reg uint64, value uint32) (reject,
	uncorrectable bool)) (rc int, fatal bool) {
	w0 := f.masked
	f.masked = true
	f.note(opMask, 0)
	x8 := f.mrs()
	x8 &^= fabricWindow
	f.msr(x8)
	f.note(opStore, uint64(value))
	reject, uncorrectable := store(reg, value)
	if reject {
		f.pending |= fabricReject
	}
	if uncorrectable {
		f.pending |= fabricL2C
	}
	f.barrier()
	x8 = f.mrs()
	if x8&fabricL2C != 0 {
		return 0, true
	}
	if x8&fabricReject != 0 {
		rc = 1
		f.msr(x8 &^ (fabricL2C | fabricReject))
	}
	x8 = f.mrs()
	x8 |= fabricWindow
	f.msr(x8)
	f.masked = w0
	f.note(opUnmask, 0)
	return rc, false
}
