package protocol

import (
	"encoding/binary"
	"hash/crc32"
)

// sealSize is the length of a seal in bytes.
const sealSize = 4

// Seal returns a message followed by the seal of a sealed controller's rings: the CRC-32 (IEEE) of its bytes. Seals are
// modelled: no source states a checksum of messages. They detect every byte that changes in a ring.
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

// DamageError reports a slot of a sealed ring whose bytes have changed since they were posted.
type DamageError struct {
	Bytes     int    // in the slot
	Seal, Sum uint32 // the seal, and the checksum of the bytes
}

func (e *DamageError) Error() string {
	return bad(max(e.Bytes-sealSize, 0), "seal", e.Seal, "the CRC-32 of the message's bytes",
		"the message was damaged in the ring; post it again").Error()
}

// Is makes it a malformed message.
func (e *DamageError) Is(target error) bool { return target == ErrMalformed }
