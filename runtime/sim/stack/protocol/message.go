package protocol

import (
	"fmt"
	"slices"
)

// Body is the body of a message: *ProcedureCall, *CacheCall, *Trigger, *Inference, *BackChannel, or *Record for all
// other commands.
type Body interface {
	Append(p []byte) []byte
}

// Message is a decoded message of the control channel.
type Message struct {
	Row    *Row
	Header Header // ID in the channel's numbering, Size as sent
	Body   Body
}

// MaxMessage is the length of the longest message, a back-channel call with a full payload.
const MaxMessage = HeaderSize + 12 + BackChannelCap

// New returns a message and checks it as the firmware would. It sets the header's ID and Size.
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

// Bytes returns the message's bytes. Decoding them returns an equal message if New or Decode returned this one.
func (m *Message) Bytes() []byte {
	c := *m
	b, err := c.encode()
	if err != nil {
		return m.Header.Append(nil) // the body was changed beyond its bounds: decoding will report the wrong size
	}
	return b
}

// Decode reads one message from a buffer that may be longer and returns the message's length in bytes. Errors have the
// offset in msg.
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
		return nil, 0, fmt.Errorf("%w: byte 0x0, id = %s: unknown command; use one of the identifiers in Rows",
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

// DecodeBody reads the body of a command. Offsets in errors are relative to the body.
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
