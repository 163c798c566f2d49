package protocol

import (
	"fmt"
	"slices"
)

// Body is what follows a header: *ProcedureCall, *CacheCall, *Trigger,
// *Inference, *BackChannel, or *Record for all else.
type Body interface {
	Append(p []byte) []byte
}

// Message is a decoded message of the control channel.
type Message struct {
	Row    *Row
	Header Header // ID in the channel's numbering, Size as it was sent
	Body   Body
}

// MaxMessage is the longest message: a back-channel call with a full payload.
const MaxMessage = HeaderSize + 12 + BackChannelCap

// New makes a message and checks it as the firmware would. The header's ID and
// Size are filled in.
func New(n Numbering, row *Row, h Header, body Body) (*Message, error) {
	h.ID = n.Of(row)
	m := &Message{row, h, body}
	b, err := m.encode()
	if err != nil {
		return nil, err
	}
	got, _, err := Decode(n, b)
	return got, err
}

func (m *Message) encode() ([]byte, error) {
	least, most := m.Row.Request.Bounds()
	msg := m.Body.Append(make([]byte, HeaderSize, HeaderSize+least))
	n := len(msg) - HeaderSize
	if n < least || n > most {
		return nil, of(bad(0, "size", n, fmt.Sprintf("%d to %d bytes", least, most), ""), m.Row.command(), HeaderSize)
	}
	m.Header.Size = uint32(n)
	m.Header.Append(msg[:0])
	return msg, nil
}

// Bytes returns the message's bytes; of a message that New or Decode made,
// decoding gives an equal message and encoding that the same bytes.
func (m *Message) Bytes() []byte {
	c := *m
	b, err := c.encode()
	if err != nil {
		return m.Header.Append(nil) // a body changed past its bounds: the size no longer matches and decoding says so
	}
	return b
}

// Decode reads one message from a buffer that may be longer than it, and
// returns how many bytes the message has. Errors carry the offset in msg.
func Decode(n Numbering, msg []byte) (*Message, int, error) {
	h, err := DecodeHeader(msg)
	if err != nil {
		row := ""
		if r := n.Row(h.ID); r != nil && len(msg) >= HeaderSize {
			row = r.command()
		}
		return nil, 0, of(err, row, 0)
	}
	row := n.Row(h.ID)
	if row == nil {
		return nil, 0, fmt.Errorf("%w: byte 0x0, id = %s: it names no command; use one of the identifiers of Rows",
			ErrUnsupported, hex4(h.ID))
	}
	end := HeaderSize + int(h.Size)
	body, err := DecodeBody(row, msg[HeaderSize:end:end])
	if err != nil {
		return nil, 0, of(err, row.command(), HeaderSize)
	}
	return &Message{row, h, body}, end, nil
}

// decoders lists the commands whose bodies are more than a record.
var decoders = []struct {
	ids    []ID
	decode func(v *Variant, body []byte) (Body, error)
}{
	{[]ID{IDProcedureCall, IDCallBars, IDCallEvents}, func(v *Variant, b []byte) (Body, error) {
		return orNil(decodeCall(v, b))
	}},
	{[]ID{IDCacheInstall, IDCacheBars, IDCacheEvents}, func(v *Variant, b []byte) (Body, error) {
		return orNil(decodeCacheCall(v, b))
	}},
	{[]ID{IDCacheTrigger}, func(_ *Variant, b []byte) (Body, error) { return orNil(decodeTrigger(b)) }},
	{[]ID{IDInferenceCall}, func(v *Variant, b []byte) (Body, error) { return orNil(decodeInference(v, b)) }},
	{[]ID{IDBackChannel}, func(_ *Variant, b []byte) (Body, error) { return orNil(decodeBackChannel(b)) }},
}

// orNil keeps a nil pointer from becoming a non-nil Body.
func orNil[T any, P interface {
	*T
	Body
}](p P, err error) (Body, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// DecodeBody reads the body of a command. Offsets in errors count from the
// body's first byte.
func DecodeBody(row *Row, body []byte) (Body, error) {
	for i := range decoders {
		if slices.Contains(decoders[i].ids, row.ID) {
			return decoders[i].decode(VariantOf(row.ID), body)
		}
	}
	r, err := decodeRecord(row.Request, body)
	if err == nil {
		err = checkRecord(r)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}
