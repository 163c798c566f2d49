package sha256x2

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Digest is a sum that is being computed.
type Digest struct {
	portable hash.Hash // nil if the fields below are used
	sum      [8]uint32
	length   uint64
	begun    [sha256.BlockSize]byte // of the block after the last whole one
}

// New returns the digest of no bytes.
func New() *Digest {
	if !accelerated {
		return &Digest{portable: sha256.New()}
	}
	return &Digest{sum: [8]uint32{
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	}}
}

// Write adds p. It never fails.
func (d *Digest) Write(p []byte) (int, error) {
	if d.portable != nil {
		return d.portable.Write(p)
	}
	n := d.complete(p)
	if blocks := (len(p) - n) / sha256.BlockSize; blocks > 0 {
		d.alone(p[n : n+blocks*sha256.BlockSize])
		n += blocks * sha256.BlockSize
	}
	d.begin(p[n:])
	return len(p), nil
}

// WriteBoth adds bytes of p to a and bytes of q to b, all of one of them and so many of the other. It returns how many.
func WriteBoth(a, b *Digest, p, q []byte) (m, n int) {
	if a.portable != nil {
		a.portable.Write(p)
		b.portable.Write(q)
		return len(p), len(q)
	}
	m, n = a.complete(p), b.complete(q)
	if l := min(len(p)-m, len(q)-n) / sha256.BlockSize; l > 0 {
		blocks(&a.sum, &b.sum, &p[m], &q[n], l)
		l *= sha256.BlockSize
		a.length, b.length = a.length+uint64(l), b.length+uint64(l)
		m, n = m+l, n+l
	}
	if len(p)-m < sha256.BlockSize {
		a.begin(p[m:])
		m = len(p)
	}
	if len(q)-n < sha256.BlockSize {
		b.begin(q[n:])
		n = len(q)
	}
	return m, n
}

// complete adds bytes of p that complete a block that was begun, and returns how many.
func (d *Digest) complete(p []byte) int {
	at := int(d.length % sha256.BlockSize)
	if at == 0 {
		return 0
	}
	n := copy(d.begun[at:], p)
	d.length += uint64(n)
	if at+n == sha256.BlockSize {
		d.length -= sha256.BlockSize // alone counts them again
		d.alone(d.begun[:])
	}
	return n
}

// begin adds bytes that are less than a block, after which no block has been begun.
func (d *Digest) begin(p []byte) {
	if len(p) > 0 {
		d.length += uint64(copy(d.begun[d.length%sha256.BlockSize:], p))
	}
}

// alone adds whole blocks, at least one.
func (d *Digest) alone(p []byte) {
	var unused [8]uint32
	blocks(&d.sum, &unused, &p[0], &p[0], len(p)/sha256.BlockSize)
	d.length += uint64(len(p))
}

// Sum returns the SHA-256 of the bytes that were added. Nothing can be added afterwards.
func (d *Digest) Sum() [sha256.Size]byte {
	if d.portable != nil {
		return [sha256.Size]byte(d.portable.Sum(nil))
	}
	// A bit that is set, zeros to the end of a block but for eight bytes, and the length in bits.
	var end [2 * sha256.BlockSize]byte
	at := int(d.length % sha256.BlockSize)
	copy(end[:], d.begun[:at])
	end[at] = 0x80
	n := (at + 1 + 8 + sha256.BlockSize - 1) / sha256.BlockSize * sha256.BlockSize
	binary.BigEndian.PutUint64(end[n-8:], 8*d.length)
	d.alone(end[:n])
	var out [sha256.Size]byte
	for i, v := range d.sum {
		binary.BigEndian.PutUint32(out[4*i:], v)
	}
	return out
}
