package toolchain

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zinc-compiler/zinc/internal/node"
)

// maxPasses bounds the programs that one compilation may print: passes times functions
// and shapes.
const maxPasses = 1 << 14

// splitter takes what --print-after=all prints apart: programs into files, the rest into
// messages.
type splitter struct {
	dir      string
	limits   Limits
	messages int64 // bytes that it said
	programs int64 // bytes that it printed, lines cut
	r        *Result

	said  strings.Builder
	file  *os.File
	w     *bufio.Writer
	ended bool // the text of a function is over, so that another or a message may follow
}

// afterMark begins the program after a pass.
const afterMark = "// after "

func (s *splitter) line(l []byte) error {
	if name, ok := bytes.CutPrefix(l, []byte(afterMark)); ok {
		return s.begin(string(name))
	}
	if s.file == nil {
		return s.say(l)
	}
	if s.ended && len(l) > 0 && !bytes.HasPrefix(l, []byte("func ")) {
		if err := s.close(); err != nil {
			return err
		}
		return s.say(l)
	}
	p := &s.r.Passes[len(s.r.Passes)-1]
	if name, ok := bytes.CutPrefix(l, []byte("func %")); ok && p.Function == "" {
		if i := bytes.IndexByte(name, ' '); i > 0 {
			p.Function = string(name[:i])
		}
	}
	s.ended = len(l) == 1 && l[0] == '}' || s.ended && len(l) == 0
	n := int64(len(l)) + 1
	if s.programs += n; s.programs > s.limits.Programs {
		return &LimitError{What: "the programs after its passes", Limit: size(s.limits.Programs)}
	}
	p.Bytes += n
	p.Lines++
	s.w.Write(l)
	return s.w.WriteByte('\n')
}

// begin begins the text of a pass.
func (s *splitter) begin(name string) error {
	if err := s.close(); err != nil {
		return err
	}
	if len(s.r.Passes) == maxPasses {
		return &LimitError{What: "the programs that it prints", Limit: fmt.Sprint(maxPasses)}
	}
	if name = node.Printable(name); len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "")
	}
	path := filepath.Join(s.dir, fmt.Sprintf("%05d.txt", len(s.r.Passes)))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	s.file, s.w, s.ended = f, bufio.NewWriter(f), false
	s.r.Passes = append(s.r.Passes, Pass{Name: name, Path: path})
	return nil
}

// close ends the text of a pass.
func (s *splitter) close() error {
	if s.file == nil {
		return nil
	}
	err := s.w.Flush()
	err = cmp.Or(err, s.file.Close())
	s.file, s.w = nil, nil
	return err
}

func (s *splitter) say(l []byte) error {
	if s.messages += int64(len(l)) + 1; s.messages > s.limits.Messages {
		return &LimitError{What: "what it says", Limit: size(s.limits.Messages)}
	}
	s.said.Write(l)
	return s.said.WriteByte('\n')
}
