package coprocessor

// Values of the bring-up handshakes. That 1 and 0 select a warm and a cold boot,
// which registers carry the wakes and that the third checks a magic number 1 is
// chapter 29's; the other values are modelled.
//
// The host's part, in order: power (PS, PWGATE), scratch registers to zero, boot
// arguments, boot kind, reset vector, reset released, then:
//
//	Run; scratch 7 is WakeAlive; write 0 to it
//	Run; scratch 7 is WakeChannels; walk Channels; write 0 to it
//	Run; scratch 3 is MagicReady; enable interrupts (RegIRQ)
//
// A write of 0 to scratch 7 acknowledges a wake.
const (
	ScratchWake  = 7 // boot kind before the release, wakes after it
	ScratchReady = 3 // the third handshake
	ScratchChip  = 0 // boot argument: chip revision, ChipRevision
	ScratchIPC   = 1 // boot argument: protocol version, IPCVersion
	ScratchArgs  = 2 // boot argument: bytes of the initial heap, 0 for the default

	BootCold = 0
	BootWarm = 1

	WakeAlive    = 0xa11fe001 // first wake: the controller is alive
	WakeChannels = 0xc4a17ab1 // second wake: the channel-description table is ready
	MagicReady   = 1          // "magic-number-1"

	ChipRevision = 0x60 // version 96 of table 27.9
	IPCVersion   = 1<<16 | 0

	// EndpointID is the literal that EnableRTBuddyEndpoints holds.
	EndpointID = 0xe400
	// BootAddress is the entry of the preload image, which the host writes to
	// RVBAR.
	BootAddress = 0x1_0000_0000
	// RingVersion is the ring-buffer version that every channel must have.
	RingVersion = 3
)
