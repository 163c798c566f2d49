package vector

import (
	"encoding/binary"
	"fmt"
)

// blockColumns is the number of columns of one block: eight source rows and a block's worth of destination stay in the
// first-level cache, also where the source rows are a power of two apart and would evict one another if all of them
// were read at once.
const blockColumns = 256

// Interleave transposes packed fp16 numbers: src has the given number of rows of cols numbers, and dst gets cols rows.
func Interleave(dst, src []byte, rows, cols int) {
	if rows <= 0 || cols <= 0 {
		return
	}
	if len(dst) < 2*rows*cols || len(src) < 2*rows*cols {
		panic(fmt.Sprintf("vector: %d rows of %d fp16 numbers do not fit %d bytes to read and %d to write", rows, cols,
			len(src), len(dst)))
	}
	rb, db := 2*cols, 2*rows
	for c0 := 0; c0 < cols; c0 += blockColumns {
		n := min(blockColumns, cols-c0)
		block := dst[c0*db : (c0+n)*db]
		l := 0
		for ; l+8 <= rows; l += 8 {
			to, from := block[2*l:], src[l*rb+2*c0:]
			if done := interleave(to, db, from, rb, n); done < n {
				interleave4(to[done*db:], db, from[2*done:], rb, n-done)
				interleave4(to[done*db+8:], db, from[2*done+4*rb:], rb, n-done)
			}
		}
		if l+4 <= rows {
			interleave4(block[2*l:], db, src[l*rb+2*c0:], rb, n)
			l += 4
		}
		for ; l < rows; l++ {
			row := src[l*rb+2*c0:][:2*n]
			for i, o := 0, 2*l; i+2 <= len(row); i, o = i+2, o+db {
				block[o], block[o+1] = row[i], row[i+1]
			}
		}
	}
}

// interleavePortable writes none of the columns of eight rows, and returns their number, 0.
func interleavePortable(dst []byte, db int, src []byte, rb, n int) int { return 0 }

// interleave4 writes n fp16 numbers of four rows side by side, one destination row of db bytes per column; source rows
// are rb bytes apart. Four by four numbers at a time go through four registers.
func interleave4(dst []byte, db int, src []byte, rb, n int) {
	const even = 0x0000ffff0000ffff
	le := binary.LittleEndian
	a, b, c, d := src[:2*n], src[rb:][:2*n], src[2*rb:][:2*n], src[3*rb:][:2*n]
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
