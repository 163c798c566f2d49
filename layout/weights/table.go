package weights

import "encoding/binary"

// TableWords and TableBytes are the size of one lookup table.
const (
	TableWords = 64
	TableBytes = 2 * TableWords
)

// Table is one activation table as the engine streams it: 64 fp16 halfwords.
type Table [TableWords]uint16

// Bytes returns the table as the constant section holds it.
func (t *Table) Bytes() []byte {
	b := make([]byte, TableBytes)
	t.put(b)
	return b
}

func (t *Table) put(dst []byte) {
	for i, w := range t {
		binary.LittleEndian.PutUint16(dst[2*i:], w)
	}
}
