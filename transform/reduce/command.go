package reduce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/zinc-compiler/zinc/internal/procgroup"
	"github.com/zinc-compiler/zinc/internal/shellwords"
)

// Placeholder represents the candidate's path in a command's arguments.
const Placeholder = "{}"

// killDelay is how long the output of a command that was ended may stay open.
const killDelay = time.Second

// maxSaid bounds the output of a command that is kept for a message.
const maxSaid = 4 << 10

// A Command is a predicate of its own program.
type Command struct {
	Args []string // program and arguments; Placeholder in one represents the candidate's path
	// Nonzero turns the convention round: an exit status other than 0 means
	// interesting. Ending by a signal is such a status.
	Nonzero bool

	first  int    // exit status of the first run
	output []byte // of the first run
}

// ParseCommand splits a command line as a shell does, at white space outside of
// quotes, and does nothing else that a shell does.
func ParseCommand(s string) (*Command, error) {
	args, err := shellwords.Split(s)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		return nil, errors.New("the command is empty")
	}
	if !slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, Placeholder) }) {
		args = append(args, Placeholder)
	}
	return &Command{Args: args}, nil
}

// Interesting runs the command on a candidate. That it cannot be run at all is an
// error.
func (x *Command) Interesting(ctx context.Context, c *Candidate) (bool, error) {
	path, err := c.Path()
	if err != nil {
		return false, err
	}
	args := slices.Clone(x.Args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], Placeholder, path)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	procgroup.Own(cmd)
	cmd.WaitDelay = killDelay
	var said limited
	if c.Number == 1 {
		cmd.Stdout, cmd.Stderr = &said, &said
	}
	runtime.LockOSThread()
	err = cmd.Run()
	runtime.UnlockOSThread()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return false, fmt.Errorf("running the predicate: %w", err)
	}
	if c.Number == 1 {
		x.output = bytes.TrimSpace(said.Bytes())
		if cmd.ProcessState != nil {
			x.first = cmd.ProcessState.ExitCode()
		}
	}
	return (err == nil) != x.Nonzero, nil
}

// Said reports how the command ended on the program that is reduced, and what it
// wrote, for a message.
func (x *Command) Said() string {
	s := fmt.Sprintf("%s exited with status %d", x.Args[0], x.first)
	if x.first < 0 {
		s = x.Args[0] + " was ended by a signal"
	}
	if len(x.output) > 0 {
		s += " and wrote: " + string(x.output)
	}
	return s
}

// limited keeps the first bytes of what is written.
type limited struct{ bytes.Buffer }

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if room := maxSaid - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
