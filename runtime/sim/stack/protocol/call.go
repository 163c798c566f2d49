package protocol

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Limits of a procedure call (tables 30.3, 30.4 and the text between them).
const (
	MaxInputBuffers   = 16
	MaxSignalEvents   = 16
	MaxWireBars       = 32  // custom bars on the wire
	MaxProgramBars    = 128 // custom bars in a compiled program
	MaxExecuteOrder   = 128
	OutputBufferSets  = 1 // on the M1
	TdPartitions      = 1 // on the M1's single path
	RequestsInList    = 1 // on the M1's single path
	MaxSharedEvents   = 2 // fewer than this many active
	CopyContainerSize = 4096
	// CopyContainerSize is sizeof(sCSneCmdProcedureCallCopyContainer). 4096 is modelled: no source states it, and it
	// has room for every array at its limit.
)

// callLayout is the fixed part of sCSneCmdProcedureCall. The counted fields and bounds are from tables 30.3 and 30.4;
// the order, the two buffer counts and the scheduler's identifiers are modelled.
var callLayout = pack("sCSneCmdProcedureCall", "chapter 30, tables 30.3 and 30.4; order modelled", CopyContainerSize-72,
	b("nbrOfOutputBufferSets", 4, OutputBufferSets, OutputBufferSets, "nbrOfOutputBufferSets == 1"),
	b("nbrOfWaitEvents", 4, 0, MaxSignalEvents, "nbrOfWaitEvents <= 16"), // modelled, as for signals
	b("nbrOfSignalEvents", 4, 0, MaxSignalEvents, "nbrOfSignalEvents <= 16"),
	b("nbrOfCustomBars", 4, 0, MaxWireBars, "nbrOfCustomBars <= 32"),
	f("stats.buffer", 8),
	f("stats.size", 8),
	b("nbrOfInputBuffers", 4, 0, MaxInputBuffers, "nbrOfInputBuffers <= (16)"),
	b("nbrOfOutputBuffers", 4, 0, MaxWireBars, "nbrOfOutputBuffers <= 32"), // modelled: one per buffer-access register
	b("nbrOfTdPartition", 4, TdPartitions, TdPartitions, "1 == nbrOfTdPartition"),
	b("nbrOfAneRequestInList", 4, RequestsInList, RequestsInList, "1 == pCacheReq->nbrOfAneRequestInList"),
	f("customExecuteOrderArrayOffset", 4),
	b("nbrOfCustomExecuteOrder", 4, 0, MaxExecuteOrder, "nbrOfCustomExecuteOrder <= 128"),
	b("bSubNetworkCustomExecuteOrder", 4, 0, 1, "0 or 1"),
	b("nbrOfEventMasks", 4, 0, 1, "event masks: exactly 1"),
	f("userId", 4),
	f("jobId", 4),
)

// Places in callLayout.
const (
	callSets = iota
	callWaits
	callSignals
	callBars
	callStatsBuffer
	callStatsSize
	callInputs
	callOutputs
	callPartitions
	callRequests
	callOrderOffset
	callOrder
	callSubNetwork
	callMasks
	callUser
	callJob
)

// ContentType is the result of getProcedureCallType.
type ContentType uint32

// Variant is one line of Variants: what one member of the procedure-call family may contain besides the fixed part.
type Variant struct {
	ID       ID
	Bars     bool // custom bars and an execute order
	Events   bool // wait and signal events
	MinSig   uint32
	Contents []ContentType // admitted by the type gate
	Cache    bool          // cacheHandler is before the body
	Shared   bool          // its events count as active shared events
}

var plainContents, cacheContents = []ContentType{0, 3, 4}, []ContentType{0, 3}

// Variants lists the procedure-call family. The content types are chapter 30's.
var Variants = []Variant{
	{ID: IDProcedureCall, Contents: plainContents},
	{ID: IDCallBars, Bars: true, Contents: plainContents},
	{ID: IDCallEvents, Bars: true, Events: true, MinSig: 1, Contents: plainContents},
	{ID: IDCacheInstall, Contents: cacheContents, Cache: true},
	{ID: IDCacheBars, Bars: true, Contents: cacheContents, Cache: true},
	{ID: IDCacheEvents, Bars: true, Events: true, Contents: cacheContents, Cache: true, Shared: true},
	{ID: IDInferenceCall, Bars: true, Contents: plainContents},
}

// VariantOf returns the line of an identifier, or nil for one outside the family.
func VariantOf(id ID) *Variant {
	for i := range Variants {
		if Variants[i].ID == id {
			return &Variants[i]
		}
	}
	return nil
}

// Stats is the buffer for the statistics of a run. If the address or the size is zero, nothing is mapped or written.
type Stats struct{ Buffer, Size uint64 }

// ProcedureCall is sCSneCmdProcedureCall with its arrays. The counts in the
// bytes are the arrays' lengths.
type ProcedureCall struct {
	Stats         Stats
	Inputs        []Buffer
	Outputs       []Buffer
	Waits         []Event
	Signals       []Event
	Bars          []CustomBar
	Order         []uint32 // custom execute order
	OrderOffset   uint32   // bytes from the body's start; 0 lets Append choose the smallest
	SubNetwork    bool     // bSubNetworkCustomExecuteOrder
	UserID, JobID uint32
}

// callSize is the size of the call up to the execute order.
func (c *ProcedureCall) callSize() int {
	return callLayout.Size + (len(c.Inputs)+len(c.Outputs))*BufferSize + (len(c.Waits)+len(c.Signals))*EventSize +
		len(c.Bars)*CustomBarSize
}

// Size returns the number of bytes that Append appends.
func (c *ProcedureCall) Size() int {
	if len(c.Order) == 0 {
		return c.callSize()
	}
	return max(c.callSize(), int(c.OrderOffset)) + 4*len(c.Order)
}

// Append appends the call's bytes.
func (c *ProcedureCall) Append(p []byte) []byte {
	start := len(p)
	off, masks, sub := uint32(0), uint32(0), uint32(0)
	if len(c.Order) > 0 {
		off = max(c.OrderOffset, uint32(c.callSize()))
	}
	if len(c.Waits)+len(c.Signals) > 0 {
		masks = 1
	}
	if c.SubNetwork {
		sub = 1
	}
	le := binary.LittleEndian
	for _, n := range []int{OutputBufferSets, len(c.Waits), len(c.Signals), len(c.Bars)} {
		p = le.AppendUint32(p, uint32(n))
	}
	p = le.AppendUint64(le.AppendUint64(p, c.Stats.Buffer), c.Stats.Size)
	for _, v := range []uint32{uint32(len(c.Inputs)), uint32(len(c.Outputs)), TdPartitions, RequestsInList, off,
		uint32(len(c.Order)), sub, masks, c.UserID, c.JobID} {
		p = le.AppendUint32(p, v)
	}
	p = appendRecords(appendRecords(p, bufferRecord, c.Inputs), bufferRecord, c.Outputs)
	p = appendRecords(appendRecords(p, eventRecord, c.Waits), eventRecord, c.Signals)
	p = appendRecords(p, barRecord, c.Bars)
	for len(p)-start < int(off) {
		p = append(p, 0)
	}
	for _, v := range c.Order {
		p = le.AppendUint32(p, v)
	}
	return p
}

// decodeCall reads the body of a variant. Offsets in errors are relative to the body.
func decodeCall(v *Variant, body []byte) (*ProcedureCall, error) {
	l := callLayout
	if err := l.Check(body); err != nil {
		return nil, err
	}
	get := func(i int) uint64 { return l.get(body, i) }
	fail := func(i int, limit string) error { return bad(l.Fields[i].Off, l.Fields[i].Name, get(i), limit, "") }
	waits, signals, order := get(callWaits), get(callSignals), get(callOrder)
	switch {
	case !v.Bars && get(callBars) > 0:
		return nil, fail(callBars, "the command carries no custom bars; use a variant WITH_CUSTOM_BARS")
	case !v.Events && waits+signals > 0:
		return nil, fail(callWaits, "the command carries no events; use the variant with events")
	case v.Events && signals < uint64(v.MinSig):
		return nil, fail(callSignals, "nbrOfSignalEvents > 0 && nbrOfSignalEvents <= 16")
	case v.Events && waits+signals == 0:
		return nil, fail(callWaits, "nbrOfWaitEvents + nbrOfSignalEvents > 0")
	case v.Events && get(callSubNetwork) != 0:
		return nil, fail(callSubNetwork, "0 == bSubNetworkCustomExecuteOrder")
	case v.Events != (get(callMasks) == 1):
		return nil, fail(callMasks, "want exactly 1 event mask with events, none without")
	case !v.Bars && order > 0:
		return nil, fail(callOrder, "the command carries no execute order; use a variant WITH_CUSTOM_BARS")
	}
	c := &ProcedureCall{
		Stats:       Stats{get(callStatsBuffer), get(callStatsSize)},
		OrderOffset: uint32(get(callOrderOffset)), SubNetwork: get(callSubNetwork) == 1,
		UserID: uint32(get(callUser)), JobID: uint32(get(callJob)),
	}
	if s := c.Stats; s.Buffer != 0 && s.Size != 0 {
		switch {
		case s.Buffer>>32 != 0:
			return nil, fail(callStatsBuffer, "(buffer >> 32) == 0")
		case s.Size < StatsMinBytes || s.Size > math.MaxUint32:
			return nil, fail(callStatsSize,
				fmt.Sprintf("covers the three stats records, %#x bytes, and fits the address", StatsMinBytes))
		}
	}
	// The counts have been checked, so this cannot overflow.
	callSize := l.Size + int(get(callInputs)+get(callOutputs))*BufferSize + int(waits+signals)*EventSize +
		int(get(callBars))*CustomBarSize
	end := callSize
	off := int64(c.OrderOffset)
	switch {
	case order == 0 && off != 0:
		return nil, fail(callOrderOffset, "0 < nbrOfCustomExecuteOrder if the array has an offset")
	case order > 0 && off < int64(callSize):
		return nil, fail(callOrderOffset, fmt.Sprintf("callSize (%#x) <= customExecuteOrderArrayOffset", callSize))
	case order > 0 && off+int64(order)*4 > CopyContainerSize:
		return nil, fail(callOrderOffset, "customExecuteOrderArrayOffset + nbrOfCustomExecuteOrder * "+
			"sizeof(uint32_t) <= sizeof(sCSneCmdProcedureCallCopyContainer)")
	case order > 0:
		end = int(off) + int(order)*4
	}
	if end != len(body) {
		return nil, bad(0, "size", len(body), fmt.Sprintf("the counts require %d bytes", end),
			"make counts and size agree")
	}
	at := l.Size
	var err error
	if c.Inputs, at, err = decodeBuffers(body, at, int(get(callInputs)), InputBuffer, "inputBuffer"); err != nil {
		return nil, err
	}
	if c.Outputs, at, err = decodeBuffers(body, at, int(get(callOutputs)), OutputBuffer, "outputBuffer"); err != nil {
		return nil, err
	}
	c.Waits, at, _ = decodeRecords(body, at, int(waits), eventRecord, nil)
	c.Signals, at, _ = decodeRecords(body, at, int(signals), eventRecord, nil)
	if c.Bars, at, err = decodeBars(body, at, int(get(callBars))); err != nil {
		return nil, err
	}
	if order > 0 {
		for ; at < int(off); at++ {
			if body[at] != 0 {
				return nil, bad(at, "padding", body[at], "0 between the call and the execute order", "")
			}
		}
		c.Order = make([]uint32, order)
		for i := range c.Order {
			c.Order[i] = binary.LittleEndian.Uint32(body[at+4*i:])
		}
	}
	return c, nil
}

// Log formats the call's counts as the firmware logs them.
func (c *ProcedureCall) Log(priority uint32) string {
	return fmt.Sprintf("Bufs = %d Priority = %d CustomBars = %d WaitEvents = %d SignalEvents = %d",
		len(c.Inputs)+len(c.Outputs), priority, len(c.Bars), len(c.Waits), len(c.Signals))
}
