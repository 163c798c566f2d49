package protocol

import (
	"encoding/binary"
	"hash/crc32"
)

// sealSize is the length of a seal in bytes.
const sealSize = 4

// Seal returns a message with the seal that a sealed controller's rings ask for:
// the CRC-32 (IEEE) of its bytes behind it. Seals are modelled: no source states
// a checksum of messages. They are there so that a byte that changes on its way
// through a ring is always found.
func Seal(msg []byte) []byte {
	out := append(make([]byte, 0, len(msg)+sealSize), msg...)
	return binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(msg))
}

// unseal checks and removes a seal.
func unseal(slot []byte) ([]byte, error) {
	n := len(slot) - sealSize
	if n < 0 {
		return nil, &DamageError{len(slot), 0, 0}
	}
	msg := slot[:n:n]
	if got, want := crc32.ChecksumIEEE(msg), binary.LittleEndian.Uint32(slot[n:]); got != want {
		return msg, &DamageError{len(slot), want, got}
	}
	return msg, nil
}

// DamageError is a slot of a sealed ring whose bytes are not those that were
// posted.
type DamageError struct {
	Bytes     int    // in the slot
	Seal, Sum uint32 // what the seal says, and the bytes' checksum
}

func (e *DamageError) Error() string {
	return bad(max(e.Bytes-sealSize, 0), "seal", e.Seal, "the CRC-32 of the message's bytes",
		"the message was damaged on its way; post it again").Error()
}

// Is makes it a malformed message.
func (e *DamageError) Is(target error) bool { return target == ErrMalformed }
