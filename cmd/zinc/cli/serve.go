package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/target"
)

// serveCommand is the state of `zinc serve`.
type serveCommand struct {
	*env
	machineFlags
	socket   string
	target   string // whose programs the machine runs
	numerics string
	workers  int
	limits   broker.Limits
	seats    int
	user     int    // of a per-user broker; -1 for the system's
	trace    string // file
	dry      bool
	json     bool
}

// servingJSON is what a command that serves prints with --json when it is ready.
type servingJSON struct {
	Address string `json:"address"`       // of the socket or the page
	PID     int    `json:"pid,omitempty"` // of the process that serves
}

func newServe(e *env) *cobra.Command {
	c := &serveCommand{env: e}
	cmd := &cobra.Command{
		Use:   "serve --socket PATH",
		Short: "Run a simulated machine that other processes use",
		Long: `Serve runs one simulated machine, with broker, driver and device, for any number of
processes: zinc run --connect PATH, zinc top --connect PATH, and programs that call
zinc.Dial. It ends when it is interrupted.

Only the user who runs it may connect, by the permissions of the socket. On Linux the
kernel vouches for a client's process and user; its team and entitlements are what it
claims. When a client ends, even by being killed, what it had loaded is released, and the
others go on. The limits hold per client. The machine runs the programs of one target and
refuses containers of another CPU subtype.

With --user it is the per-user broker of one user, whose clients are in the per-user tier,
and refuses those of other users.

With --lockstep N, nothing runs before N clients have come, each with a seat (zinc run
--seat, zinc.DialOptions), and virtual time passes only while every client waits for an
answer. Order and time of all calls, and the trace, are then the same in every run of the
same clients, whatever the speed of their processes. Serve ends with the last of them.`,
		Example: `  zinc serve --socket /run/user/501/zinc.sock
  zinc run digits.hwx --random 1 --connect /run/user/501/zinc.sock
  zinc serve --socket /run/user/501/m2.sock --target m2`,
		GroupID: groupServe,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.serve(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&c.socket, "socket", "", "`PATH` of the Unix socket to listen on")
	c.target = defaultTarget
	f.VarP(targetFlag{&c.target}, "target", "t", "hardware `TARGET` whose programs the machine runs: "+
		strings.Join(target.Compiled(), ", ")+chipsToo)
	f.Var(newArithmetic(&c.numerics), "numerics", "arithmetic on the engine: ane, ane-wide, ane-fixed or ieee, as in "+
		"zinc run")
	f.IntVar(&c.workers, "workers", 0, "goroutines of one task; 0 for one per processor")
	f.IntVar(&c.limits.Connections, "max-clients", 0, "limit of clients, of which 5 are kept for holders of "+
		broker.KeyTrustCacheClient+": below 6 no other may connect (default 128)")
	f.IntVar(&c.limits.Models, "max-models", 0, "limit of the models that one client has loaded (default 64)")
	f.Int64Var(&c.limits.ModelBytes, "max-model-bytes", 0, "limit of the containers of one client (default 4 GiB)")
	f.Int64Var(&c.limits.WiredBytes, "max-wired-bytes", 0, "limit of the memory of all programs together; idle "+
		"ones lose theirs, and get it back when they run again (default 2 GiB)")
	f.IntVar(&c.limits.CallsInFlight, "max-calls", 0, "limit of the calls of one client under way (default 32)")
	f.IntVar(&c.seats, "lockstep", 0, "run `N` clients, with the seats 1 to N, in lockstep")
	f.IntVar(&c.user, "user", -1, "be the per-user broker of user `UID`, who alone may connect to it")
	f.StringVar(&c.trace, "trace", "", "write a Chrome trace of every layer to `FILE` when it ends, for Perfetto")
	f.BoolVar(&c.dry, "dry-run", false, "start, then stop")
	f.BoolVar(&c.json, "json", false, "print the socket as JSON when it can be used")
	c.register(f)
	return cmd
}

func (c *serveCommand) serve(ctx context.Context) error {
	if c.socket == "" {
		return usagef("missing --socket PATH")
	}
	if err := c.machineFlags.check(); err != nil {
		return err
	}
	mode, err := numerics.ParseMode(c.numerics)
	if err != nil {
		return &usageError{err}
	}
	if c.seats < 0 {
		return usagef("--lockstep=%d: want 0 or more clients", c.seats)
	}
	of, err := lookupTarget(c.target)
	switch {
	case err != nil:
		return usagef("--target: %w", err)
	case !compiles(of):
		return usagef("--target=%s: zinc has no machine for it, only for %s",
			c.target, strings.Join(target.Compiled(), ", "))
	}
	o := stack.Options{Target: of, Strict: c.strict, Numerics: sim.EngineNumerics(mode), Workers: c.workers,
		Limits: c.limits, Compile: c.brokerCompiler(), Seats: c.seats, PerUser: c.user >= 0, UID: c.user}
	if c.inject != "" {
		spec, err := inject.Parse(c.inject)
		if err != nil {
			return usagef("--inject: %w", err)
		}
		o.Inject = inject.New(spec, c.seed)
	}
	w, err := traceTo(c.trace)
	if err != nil {
		return err
	}
	defer w.discard()
	o.Trace = w.tracer()
	s, err := stack.New(o)
	if err != nil {
		return err
	}
	l, err := listen(ctx, c.socket)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	if c.json {
		err = errors.Join(jsonform.Document(c.out, servingJSON{c.socket, os.Getpid()}), c.flush())
	} else {
		c.note("serving on %s", c.socket)
	}
	if err != nil {
		return errors.Join(err, l.Close(), s.Close())
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	if c.dry {
		err = l.Close()
		<-served
	} else {
		select {
		case err = <-served:
		case <-ctx.Done(): // interrupted: that is how it ends
			err = s.Broker.Close()
			<-served
		}
	}
	os.Remove(c.socket) // the listener's name was another one
	return errors.Join(err, s.Close(), w.commit())
}

// listen listens on a socket that only this user may connect to. It replaces a socket that nobody serves.
func listen(ctx context.Context, path string) (net.Listener, error) {
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode().Type() != os.ModeSocket:
		return nil, fmt.Errorf("%s exists and is not a socket", path)
	case err == nil:
		d := net.Dialer{Timeout: time.Second}
		if c, err := d.DialContext(ctx, "unix", path); err == nil {
			c.Close()
			return nil, fmt.Errorf("%s: another process serves on it", path)
		}
	case !os.IsNotExist(err):
		return nil, err
	}
	// The socket gets its permissions in a folder that nobody else may enter, and its name after that.
	dir, err := os.MkdirTemp(filepath.Dir(path), ".zinc-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var lc net.ListenConfig
	at := filepath.Join(dir, "s")
	l, err := lc.Listen(ctx, "unix", at)
	if err != nil {
		return nil, err
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	err = os.Chmod(at, 0o600)
	if err == nil {
		err = os.Rename(at, path)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// topCommand is the state of `zinc top`.
type topCommand struct {
	*env
	connect  connection
	interval time.Duration
	count    int
	json     bool
}

func newTop(e *env) *cobra.Command {
	c := &topCommand{env: e}
	cmd := &cobra.Command{
		Use:   "top --connect PATH",
		Short: "Show what a served machine does",
		Long: `Top prints the clients, programs, queues, pools, power state and counters of the machine
that zinc serve has on a socket, again after each interval until it is interrupted.`,
		Example: `  zinc top --connect /run/user/501/zinc.sock
  zinc top --connect /run/user/501/zinc.sock --count 1`,
		GroupID: groupServe,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.top(cmd.Context()) },
	}
	f := cmd.Flags()
	c.connect.register(f, "the machine's `SOCKET`")
	f.DurationVar(&c.interval, "interval", time.Second, "time between two prints")
	f.IntVar(&c.count, "count", 0, "number of prints; 0 means until interrupted")
	f.BoolVar(&c.json, "json", false, "print JSON, a document each time")
	return cmd
}

func (c *topCommand) top(ctx context.Context) error {
	if c.connect.socket == "" {
		return usagef("missing --connect PATH")
	}
	if c.interval < time.Millisecond || c.count < 0 {
		return usagef("--interval=%v --count=%d: want at least 1ms, and 0 or more", c.interval, c.count)
	}
	r, err := broker.Dial(ctx, c.connect.socket, c.connect.identity())
	if err != nil {
		return fmt.Errorf("%s: %w", c.connect.socket, err)
	}
	defer r.Close()
	for n := 1; ; n++ {
		st, err := r.Status(ctx)
		if err != nil {
			return err
		}
		if c.json {
			err = jsonform.Document(c.out, st.Lists())
		} else {
			writeStatus(c.out, st)
		}
		err = cmp.Or(err, c.flush())
		if err != nil {
			return err
		}
		if n == c.count {
			return nil
		}
		select {
		case <-time.After(c.interval):
		case <-ctx.Done():
			return nil
		}
	}
}

// writeStatus prints the status of a machine.
func writeStatus(w io.Writer, s *broker.Status) {
	d := &s.Device
	fmt.Fprintf(w, "device: %v of virtual time, %s, powered %t, load %d %%, boots %d, recoveries %d\n", d.Now, d.State,
		d.Powered, d.Load, d.Boots, d.Recoveries)
	fmt.Fprintf(w, "counters: calls %d, tasks %d, faults %d, frames in use %d\n", d.Calls, d.Tasks, d.Faults,
		d.FramesInUse)
	fmt.Fprintf(w, "waiting by priority: %v; queue slots granted %d; wired %d bytes; cached %d bytes\n", d.Waiting,
		s.QueueSlots, s.WiredBytes, s.CacheBytes)
	for _, x := range s.Clients {
		fmt.Fprintf(w, "client %d: process %d of user %d, team %q, %s, requests %d, models %d, instances %d, "+
			"%d bytes\n", x.Number, x.PID, x.UID, x.Team, x.Tier, x.Requests, x.Models, x.Instances, x.Bytes)
	}
	for _, x := range s.Programs {
		fmt.Fprintf(w, "program %d: %s, %d bytes, holders %d, adapter %t, wired %t\n", x.Resident, x.Digest, x.Bytes,
			x.Holders, x.Adapter, x.Wired)
	}
	for _, p := range d.Pools {
		if p.Available < p.Total {
			fmt.Fprintf(w, "pool %s: %d of %d in use\n", p.Name, p.Total-p.Available, p.Total)
		}
	}
}
