package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cache"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend/mil/build"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/transform/patch"
)

// Exit statuses. Statuses describes them.
const (
	statusOK          = 0
	statusInput       = 1
	statusUsage       = 2
	statusInternal    = 3
	statusBudget      = 4
	statusVerify      = 5
	statusUntold      = 6
	statusInterrupted = 130 // as shells report a process that an interrupt ended
)

// Statuses are the exit statuses of zinc. A command whose status 1 or 2 means something else says so in its help.
var Statuses = []struct {
	Status  int
	Meaning string
	Example string
}{
	{Status: statusOK, Meaning: "success"},
	{Status: statusInput, Meaning: "the input is wrong", Example: "a shape that does not fit, a truncated container"},
	{Status: statusUsage, Meaning: "the command line is wrong", Example: "an unknown flag"},
	{Status: statusInternal, Meaning: "zinc is wrong",
		Example: "a panic, a container written by zinc that fails its check, a task at which the engine faults"},
	{Status: statusBudget, Meaning: "the model exceeds a budget or misses a requirement",
		Example: "more dispatches than --max-dispatches"},
	{Status: statusVerify, Meaning: "engine and reference differ",
		Example: "an output of zinc verify beyond its bound"},
	{Status: statusUntold, Meaning: "a verification or a proof cannot tell whether engine and reference differ",
		Example: "an output of zinc verify whose bound is over 2 % of its scale and that is not proved; a " +
			"statement that zinc prove does not conclude"},
	{Status: statusInterrupted, Meaning: "interrupted", Example: "control-C; files of before are unchanged"},
}

// statusText lists the exit statuses.
func statusText() string {
	var b strings.Builder
	for _, s := range Statuses {
		fmt.Fprintf(&b, "%5d  %s", s.Status, s.Meaning)
		if s.Example != "" {
			fmt.Fprintf(&b, ": %s", s.Example)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// ownStatus is the annotation of a command with other exit statuses than Statuses: what they mean.
const ownStatus = "exit-status"

// usageError is a wrong command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// exclusive lets a flag of a command be combined with none of others.
func exclusive(cmd *cobra.Command, name string, others ...string) {
	for _, o := range others {
		cmd.MarkFlagsMutuallyExclusive(name, o)
	}
}

// whyExclusive says why flags are exclusive where it is not plain.
var whyExclusive = map[string]string{
	"bytes":   ": --bytes lists only the bytes of the pairs that differ",
	"connect": ": --connect runs on another process's machine, which has the flags of zinc serve",
	"replay":  ": --replay takes inputs, states and faults from the trace",
}

// combined returns a wrong command line for cobra's error about exclusive flags, and other errors as they are.
func combined(err error) error {
	if err == nil {
		return nil
	}
	_, rest, _ := strings.Cut(err.Error(), "are set none of the others can be; [")
	set, _, ok := strings.Cut(rest, "] were all set")
	if !ok {
		return err
	}
	names := strings.Fields(set)
	why := cmp.Or(whyExclusive[names[0]], whyExclusive[names[len(names)-1]])
	return usagef("--%s cannot be combined%s", strings.Join(names, " and --"), why)
}

// internalError is a fault of zinc.
type internalError struct {
	err   error
	stack []byte // of a panic
}

func (e *internalError) Error() string { return e.err.Error() }
func (e *internalError) Unwrap() error { return e.err }

// exitError is an error with an exit status of its own.
type exitError struct {
	err    error
	status int
	shown  bool // it was already printed
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// shown reports whether an error was already printed.
func shown(err error) bool {
	e := (*exitError)(nil)
	return errors.As(err, &e) && e.shown
}

// statusOf returns the exit status of an error. An accepted operation that does not lower, and an inconsistent
// container or descriptor, are bugs in zinc, whatever the input.
func statusOf(err error) int {
	if err == nil {
		return statusOK
	}
	if e := (*exitError)(nil); errors.As(err, &e) {
		return e.status
	}
	if errors.Is(err, context.Canceled) {
		return statusInterrupted
	}
	for _, c := range []struct {
		status int
		target any
	}{
		{statusUsage, new(*usageError)},
		{statusInternal, new(*internalError)},
		{statusInternal, new(*hwx.BuildError)},
		{statusInternal, new(*e5.ModelError)},
		{statusInternal, new(*lower.Error)},
		{statusInternal, new(*compile.FaultError)},
	} {
		if errors.As(err, c.target) {
			return c.status
		}
	}
	return statusInput
}

// fail prints err, once, and returns the exit status.
func (e *env) fail(err error) int {
	status := statusOf(err)
	if err == nil || shown(err) {
		return status
	}
	usage := (*usageError)(nil)
	wrongUsage := errors.As(err, &usage)
	if list := diag.AsList(err); list != nil && status != statusInternal && !wrongUsage {
		e.list(list)
		return status
	}
	message, hint := err.Error(), ""
	if p := (*fs.PathError)(nil); errors.As(err, &p) { // without the name of the system call
		message = strings.Replace(message, p.Error(), p.Path+": "+p.Err.Error(), 1)
	}
	switch {
	case wrongUsage:
		hint = "see " + e.command + " --help"
	case status == statusInternal:
		message = "internal error: " + message
		hint = "this is a bug in zinc, not in the input; please report it with the model and the command line"
		if dir := e.subject.reproducer(err); dir != "" {
			hint = "this is a bug in zinc, not in the input; please report it with the folder " + dir +
				", which has the model and the command line"
		}
	case status == statusInterrupted:
		message = "interrupted; nothing was written"
	default:
		hint = flagHint(err)
	}
	message, hint = printable(message), printable(hint)
	if e.diagnostics == "json" {
		var list diag.List
		list.Add(diag.Diagnostic{Severity: diag.Error, Message: message, Hint: hint})
		jsonform.Document(e.err, list.Document())
	} else {
		e.complain("zinc: " + message + "\n")
		if hint != "" {
			e.complain("zinc: " + hint + "\n")
		}
	}
	if stack := stackOf(err); stack != nil {
		fmt.Fprintf(e.err, "%s", stack)
	}
	return status
}

// stackOf returns the stack of a panic, nil for other errors.
func stackOf(err error) []byte {
	if in := (*internalError)(nil); errors.As(err, &in) {
		return in.stack
	}
	return nil
}

// flagHint returns advice that names the flag that resolves err, "" for none.
func flagHint(err error) string {
	entry, option, constant := (*ir.EntryError)(nil), (*compile.OptionError)(nil), (*patch.Refusal)(nil)
	switch {
	case errors.As(err, &entry) && entry.Name == "" && len(entry.Funcs) > 0,
		errors.As(err, &option) && option.Option == "Func":
		return "choose a function with --func"
	case option != nil && option.Option == "Shapes":
		return "choose one of the shapes with --shape"
	case compile.Exceeds(err):
		return "cut it into models that run one after the other with zinc split MODEL -o FOLDER, and --parts N for " +
			"smaller ones"
	case errors.As(err, new(*memlimit.Error)):
		return "set a larger limit with --max-memory"
	case errors.As(err, new(*cache.TrustError)):
		return "use the folder as it is with --cache-trust"
	case errors.As(err, &constant) && constant.Model:
		return "set the model with --model"
	}
	return ""
}

// list prints diagnostics in the requested format.
func (e *env) list(l *diag.List) {
	for _, d := range l.All() {
		if d.Code == build.CodeUnread {
			d.Hint += ": --weights FOLDER, --follow"
		}
	}
	if e.diagnostics == "json" {
		jsonform.Document(e.err, l.Document())
		return
	}
	var b strings.Builder
	l.WriteText(&b)
	e.complain(printable(b.String()))
}

// printable returns a message with what could control a terminal escaped, as in Go: names of files and of values may
// contain anything. Ends of lines and tabs stay.
func printable(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}
