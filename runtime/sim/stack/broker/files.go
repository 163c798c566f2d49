package broker

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// File is bytes with a name.
type File struct {
	Name string
	Data []byte
}

// Files are a list that has a coding of its own on the socket: for each file the length of its name, its name, the
// length of its data, and its data. gob takes one byte for an empty element of a list, and 40 bytes of memory, so that
// a message within the limit would need many times the limit.
type Files []File

// maxFiles bounds the files of a list on the socket. Few models have a hundred.
const maxFiles = 1 << 12

// GobEncode returns the coding.
func (f Files) GobEncode() ([]byte, error) {
	n := 0
	for _, x := range f {
		n += 2*binary.MaxVarintLen64 + len(x.Name) + len(x.Data)
	}
	b := make([]byte, 0, n)
	for _, x := range f {
		b = append(binary.AppendUvarint(b, uint64(len(x.Name))), x.Name...)
		b = append(binary.AppendUvarint(b, uint64(len(x.Data))), x.Data...)
	}
	return b, nil
}

// GobDecode reads the coding. The files share a copy of the bytes.
func (f *Files) GobDecode(b []byte) error {
	*f = nil
	b = slices.Clone(b)
	field := func() ([]byte, error) {
		n, used := binary.Uvarint(b)
		if used <= 0 || n > uint64(len(b)-used) {
			return nil, fmt.Errorf("broker: a file's name or data exceeds the %d bytes left in the message", len(b))
		}
		b = b[used:]
		v := b[:n:n]
		b = b[n:]
		return v, nil
	}
	for len(b) > 0 {
		if len(*f) == maxFiles {
			return fmt.Errorf("broker: a list exceeds the limit of %d files", maxFiles)
		}
		name, err := field()
		if err != nil {
			return err
		}
		data, err := field()
		if err != nil {
			return err
		}
		*f = append(*f, File{string(name), data})
	}
	return nil
}

// CompilerOptions are options by name, coded as Files for the same reason.
type CompilerOptions map[string]string

// GobEncode returns the coding.
func (o CompilerOptions) GobEncode() ([]byte, error) {
	var f Files
	for _, k := range slices.Sorted(maps.Keys(o)) {
		f = append(f, File{k, []byte(o[k])})
	}
	return f.GobEncode()
}

// GobDecode reads the coding.
func (o *CompilerOptions) GobDecode(b []byte) error {
	var f Files
	if err := f.GobDecode(b); err != nil {
		return err
	}
	*o = CompilerOptions{}
	for _, x := range f {
		(*o)[x.Name] = string(x.Data)
	}
	return nil
}
