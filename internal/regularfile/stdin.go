package regularfile

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// Stdin is the path of standard input.
const Stdin = "-"

// maxStdin is the limit of bytes of standard input.
const maxStdin int64 = 2 << 30

var stdin struct {
	sync.Mutex
	from io.Reader
	read bool
	data []byte
	err  error
}

// SetStdin sets what Read returns for the path Stdin. Without it, or after SetStdin(nil), Stdin is the name of a file.
func SetStdin(from io.Reader) {
	stdin.Lock()
	defer stdin.Unlock()
	stdin.from, stdin.read, stdin.data, stdin.err = from, false, nil, nil
}

// IsStdin reports whether path is standard input.
func IsStdin(path string) bool {
	stdin.Lock()
	defer stdin.Unlock()
	return path == Stdin && stdin.from != nil
}

// readStdin reads standard input once. Later calls return the same bytes: a command may open its model several times.
func readStdin() ([]byte, error) {
	stdin.Lock()
	defer stdin.Unlock()
	if !stdin.read {
		stdin.read = true
		stdin.data, stdin.err = io.ReadAll(io.LimitReader(stdin.from, maxStdin+1))
		switch {
		case stdin.err != nil:
		case len(stdin.data) == 0:
			stdin.err = errors.New("standard input is empty")
		case int64(len(stdin.data)) > maxStdin:
			stdin.data, stdin.err = nil, fmt.Errorf("standard input exceeds the limit of %d bytes", maxStdin)
		}
	}
	return stdin.data, stdin.err
}
