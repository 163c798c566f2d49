package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/inspect/dump"
	"github.com/zinc-compiler/zinc/internal/mapfault"
	"github.com/zinc-compiler/zinc/internal/regularfile"
)

// env is what every command works with.
type env struct {
	stdin       *regularfile.Input
	in          io.Reader // what stdin reads
	out         io.Writer // buffered; Main flushes it
	err         io.Writer
	diagnostics string // text or json
	profile     profile
	memory      byteCount // limit from --max-memory, 0 for the default
	helpAll     bool      // help lists the expert flags
	completes   bool      // the shell completes a word; only then are completions registered, which is slow
	quiet       bool      // print no notes
	terminal    bool      // standard output is one
	columns     int       // of help
	color       string    // auto, always or never
	command     string    // path of the command that ran, such as "zinc cache ls"
	subject     *subject
	mapped      []func() error // unmap the files that the command has read
	// inSession, if set, says that the command runs in a process with others, as a request of `zinc session`.
	inSession *task
}

// whole returns the bytes of a file until the command ends. A long file is mapped, except where that would keep it from
// being replaced.
func (e *env) whole(path string) ([]byte, error) {
	if runtime.GOOS == "windows" {
		return e.stdin.Read(path)
	}
	b, unmap, err := dump.Whole(path, e.stdin)
	if err == nil {
		e.mapped = append(e.mapped, unmap)
	}
	return b, err
}

// flush writes what is printed to standard output now, for a command that goes on.
func (e *env) flush() error {
	if f, ok := e.out.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}

// note prints a line about what was done to standard error, unless the user wants none.
func (e *env) note(format string, args ...any) {
	if !e.quiet {
		fmt.Fprintf(e.err, "zinc: "+format+"\n", args...)
	}
}

// Main runs zinc with the arguments that follow the program's name and returns
// the exit status. An interrupt cancels the command; a second one ends the
// process at once.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, args, stdin, stdout, stderr)
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	e := newEnv(args, stdin, stdout, stderr)
	defer e.unmap()
	return e.run(ctx, args)
}

func newEnv(args []string, stdin io.Reader, stdout, stderr io.Writer) *env {
	in := regularfile.NewInput(stdin)
	return &env{
		stdin:       in,
		in:          stdin,
		out:         bufio.NewWriterSize(stdout, 64<<10),
		err:         stderr,
		diagnostics: "text",
		terminal:    isTerminal(stdout),
		columns:     helpColumns(stdout),
		command:     "zinc",
		subject:     &subject{args: args, stdin: in},
		completes:   len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd),
	}
}

// unmap unmaps the files that the command has read.
func (e *env) unmap() {
	for _, unmap := range e.mapped {
		unmap() // only read from
	}
}

// run runs the command that the arguments name, prints its error and returns its exit status.
func (e *env) run(ctx context.Context, args []string) (status int) {
	if i := slices.Index(args, helpAll); i >= 0 && !slices.Contains(args[:i], "--") {
		args = slices.Clone(args)
		args[i] = "--help"
		e.helpAll = true
	}
	args = prepared(args)
	err := guarded(func() error {
		root := newRoot(e)
		root.SetArgs(args)
		root.SetIn(e.in)
		root.SetOut(e.out)
		root.SetErr(e.err)
		ran, err := root.ExecuteContextC(ctx)
		e.command = ran.CommandPath()
		return combined(err)
	})
	if err != nil && ctx.Err() != nil && statusOf(err) == statusInput && !shown(err) {
		err = ctx.Err() // the interrupted operation returns its own error
	}
	err = cmp.Or(err, e.profile.stop())
	if e2 := e.flush(); err == nil && e2 != nil {
		err = fmt.Errorf("writing the result: %w", e2)
	}
	return e.fail(err)
}

// randomFlag is the flag of random inputs, which may have no seed.
const randomFlag = "--random"

// prepared gives each --random without a seed the first one, and puts -:PLACE, a place in a model from standard input,
// after the flags. pflag has no flags with a value that may be left out and may be a word of its own, and takes -: for
// a flag.
func prepared(args []string) []string {
	var out, places []string
	for i, a := range args {
		if a == "--" {
			return slices.Concat(out, args[i:], places)
		}
		if strings.HasPrefix(a, "-:") {
			places = append(places, a)
			continue
		}
		if a == randomFlag && (i+1 == len(args) || !isSeed(args[i+1])) {
			a += "=" + strconv.Itoa(firstSeed)
		}
		out = append(out, a)
	}
	if places != nil {
		out = append(out, "--")
	}
	return append(out, places...)
}

func isSeed(s string) bool {
	_, err := strconv.ParseUint(s, 0, 64)
	return err == nil
}

// guarded turns a panic into an error of status 3, and a read of a weight file that was shortened into one of status 1.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			fault, ok := r.(error)
			if !ok {
				fault = fmt.Errorf("%v", r)
			}
			err = &internalError{fault, debug.Stack()}
		}
	}()
	return mapfault.Guard(f)
}
