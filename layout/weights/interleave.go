package weights

import "encoding/binary"

// blockColumns is the number of columns of one block: four source rows and a block's worth of destination stay in the
// first-level cache, also where the source rows are a power of two apart and would evict one another if all lanes were
// read at once.
const blockColumns = 256

// interleave transposes src, lanes rows of red halves, into dst, red rows of
// lanes halves. Four by four halves at a time go through four registers.
func interleave(dst, src []byte, lanes, red int) {
	rb, db := 2*red, 2*lanes
	for c0 := 0; c0 < red; c0 += blockColumns {
		n := min(blockColumns, red-c0)
		block := dst[c0*db : (c0+n)*db]
		l := 0
		for ; l+4 <= lanes; l += 4 {
			at := l*rb + 2*c0
			interleave4(block[2*l:], db,
				src[at:at+2*n], src[at+rb:at+rb+2*n], src[at+2*rb:at+2*rb+2*n], src[at+3*rb:at+3*rb+2*n])
		}
		for ; l < lanes; l++ {
			row := src[l*rb+2*c0 : l*rb+2*c0+2*n]
			for i, o := 0, 2*l; i+2 <= len(row); i, o = i+2, o+db {
				block[o], block[o+1] = row[i], row[i+1]
			}
		}
	}
}

// gather copies lanes halves from each of red places in src, stride bytes apart, to dst, one after another.
func gather(dst, src []byte, lanes, red, stride int) {
	n := 2 * lanes
	for r := range red {
		copy(dst[r*n:r*n+n], src[r*stride:])
	}
}

// interleave4 writes the halves of four equally long rows side by side, one destination row of db bytes per column.
func interleave4(dst []byte, db int, a, b, c, d []byte) {
	const even = 0x0000ffff0000ffff
	le := binary.LittleEndian
	o := 0
	for len(a) >= 8 && len(b) >= 8 && len(c) >= 8 && len(d) >= 8 {
		w, x, y, z := le.Uint64(a), le.Uint64(b), le.Uint64(c), le.Uint64(d)
		a, b, c, d = a[8:], b[8:], c[8:], d[8:]
		// p, r: columns 0 and 2; q, s: columns 1 and 3, two rows each.
		p, q := w&even|x&even<<16, w>>16&even|x&^even
		r, s := y&even|z&even<<16, y>>16&even|z&^even
		le.PutUint64(dst[o:], p&0xffffffff|r<<32)
		le.PutUint64(dst[o+db:], q&0xffffffff|s<<32)
		le.PutUint64(dst[o+2*db:], p>>32|r&^0xffffffff)
		le.PutUint64(dst[o+3*db:], q>>32|s&^0xffffffff)
		o += 4 * db
	}
	for len(a) >= 2 && len(b) >= 2 && len(c) >= 2 && len(d) >= 2 {
		q := dst[o : o+8]
		q[0], q[1], q[2], q[3] = a[0], a[1], b[0], b[1]
		q[4], q[5], q[6], q[7] = c[0], c[1], d[0], d[1]
		a, b, c, d = a[2:], b[2:], c[2:], d[2:]
		o += db
	}
}
