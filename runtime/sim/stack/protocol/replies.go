package protocol

// Reply is one line of Replies: the firmware's answer to a request.
type Reply struct {
	ID     ID
	Layout *Layout
}

// Replies lists the answers whose contents the chapters describe; orders and widths are modelled where the Source says
// so. No source states how an answer is sent: the firmware returns it with the request's completion.
var Replies = []Reply{
	{IDPropertyRead, pack("", "chapter 30: { uintptr regAddr; uint32 regValue; }", 0, f("regAddr", 8),
		f("regValue", 4))},
	{0x21, pack("", "chapter 29: the resource-information query; order and widths modelled", 0,
		b("engines", 4, 1, 32, "1 to 32 engines"), b("maxCacheRequest", 4, 1, MaxCacheRequests, "cache requests"),
		f("maxProcedures", 4))},
	{0x22, pack("", "listing 29.4: the four constants of the statistics buffer; widths modelled", 0,
		exactly("header", StatsSizes[0]), exactly("event", StatsSizes[1]), exactly("debugEvent", StatsSizes[2]),
		exactly("engine", StatsSizes[3]))},
	{IDCacheInstall, handlerReply}, {IDCacheBars, handlerReply}, {IDCacheEvents, handlerReply},
	{IDRequestProgramID, pack("", "modelled", 0, b("programId", 4, 0, MaxPrograms-1, "programId < 144"))},
	{0x58, pack("", "modelled", 0, b("processId", 4, 0, MaxProcesses-1, "processId < 288"))},
}

var handlerReply = pack("", "chapter 30: the 64-bit cacheHandler", 0, f("cacheHandler", 8))

func exactly(name string, v uint32) Field {
	return b(name, 4, uint64(v), uint64(v), "a constant of the layout")
}

// ReplyOf returns the layout of a request's answer, or nil if it is unknown.
func ReplyOf(id ID) *Layout {
	for _, r := range Replies {
		if r.ID == id {
			return r.Layout
		}
	}
	return nil
}
