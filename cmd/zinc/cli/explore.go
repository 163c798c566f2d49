package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/cli/browser"
	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/inspect/explore"
	"github.com/zinc-compiler/zinc/inspect/toolchain"
	"github.com/zinc-compiler/zinc/internal/jsonform"
)

// exploreCommand is the state of `zinc explore`.
type exploreCommand struct {
	*env
	listen  string
	hosts   []string
	zincs   []string // NAME=PATH
	weights string
	limits  explore.Limits
	heap    int64 // MiB
	kept    int64 // MiB
	open    bool
	once    bool
	json    bool
}

// defaultListen is the default address: only this machine can reach it.
const defaultListen = "127.0.0.1:7133"

func newExplore(e *env) *cobra.Command {
	c := &exploreCommand{env: e, limits: explore.Default}
	cmd := &cobra.Command{
		Use:   "explore [MODEL...]",
		Short: "Show in a browser what models cost, and how they are compiled",
		Long: `Explore serves a page on this machine that shows what models cost, why, and what to
change: the text with the time of each statement and where it runs, the graph of the
model, what makes it faster, with rewrites to apply, and, one level deeper, the program
after each pass, tasks with the meaning of every field, the container, the descriptor's
chain, and outputs on seeded inputs. A statement can be edited, two compilations
compared with their costs, and a view shared as a link. A sample model is always
available; without MODEL it is the only one.

--zinc adds other versions of the compiler, also for comparisons: each is an executable
that zinc explore runs on the text as edited, within the limits, and whose files it
reads.

The page is part of zinc and requests nothing from other hosts. It uses a read-only JSON
API (docs/explore.md) with limits on the size, time and memory of requests. If --listen
is not a loopback address, everyone who reaches it can read the models.

The command runs until interrupted.`,
		Example: `  zinc explore digits.mlmodelc --open
  zinc explore a.mil b.mlpackage --listen 127.0.0.1:0
  zinc explore model.mlmodelc --zinc last=/opt/zinc-0.1/zinc`,
		GroupID: groupServe,
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.listen, "listen", "l", defaultListen, "`ADDRESS:PORT` to serve on, port 0 for any free one")
	f.StringArrayVar(&c.hosts, "host", nil,
		"`NAME` that the server answers to besides loopback addresses and localhost (repeatable)")
	f.StringArrayVar(&c.zincs, "zinc", nil,
		"`NAME=PATH` of another zinc executable to compile with (repeatable)")
	f.StringVar(&c.weights, "weights", "", "`FOLDER` for @model_path (default each model's own)")
	f.Int64Var(&c.limits.Body, "max-body", c.limits.Body, "maximum `BYTES` of a request")
	f.DurationVar(&c.limits.Time, "max-time", c.limits.Time, "maximum `TIME` of a compilation or a run")
	f.Int64Var(&c.heap, "max-heap", int64(c.limits.Heap>>20),
		"`MIB` of live heap above which compilations and runs stop")
	f.Int64Var(&c.kept, "max-kept", c.limits.Kept>>20,
		"`MIB` of past compilations to keep, most of them in temporary files")
	f.IntVar(&c.limits.Jobs, "jobs", c.limits.Jobs, "compilations and runs at a time")
	f.BoolVar(&c.json, "json", false, "print the page's address as JSON when it can be opened")
	f.BoolVar(&c.open, "open", false, "open the page in the browser")
	f.BoolVar(&c.once, "dry-run", false, "read the models and print what would be served, without serving")
	return cmd
}

// versions opens the executables of --zinc.
func (c *exploreCommand) versions(ctx context.Context) (out []explore.Version, err error) {
	for _, v := range c.zincs {
		name, path, ok := strings.Cut(v, "=")
		if !ok || name == "" || path == "" {
			return nil, usagef("--zinc %q: want NAME=PATH", v)
		}
		x, err := toolchain.Open(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("--zinc %s: %w", name, err)
		}
		out = append(out, explore.Version{Name: name, Executable: x})
	}
	if err := explore.CheckVersions(out); err != nil {
		return nil, usagef("--zinc: %w", err)
	}
	return out, nil
}

func (c *exploreCommand) run(ctx context.Context, paths []string) (err error) {
	const most = 1 << 30 // MiB
	for _, n := range []struct {
		flag   string
		value  int64
		lo, hi int64
	}{
		{flag: "max-body", value: c.limits.Body, lo: 1, hi: 1 << 30}, {flag: "max-time", value: int64(c.limits.Time),
			lo: 1, hi: 1 << 62},
		{flag: "max-heap", value: c.heap, lo: 1, hi: most}, {flag: "max-kept", value: c.kept, lo: 1, hi: most},
		{flag: "jobs", value: int64(c.limits.Jobs), lo: 1, hi: 1 << 10},
	} {
		if n.value < n.lo || n.value > n.hi {
			return usagef("--%s: must be from %d to %d", n.flag, n.lo, n.hi)
		}
	}
	if _, port, err := net.SplitHostPort(c.listen); err != nil {
		return usagef("--listen %q: %w", c.listen, err)
	} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return usagef("--listen %q: want a port from 0 to 65535", c.listen)
	}
	c.limits.Heap, c.limits.Kept = uint64(c.heap)<<20, c.kept<<20
	o := explore.Options{Limits: c.limits, Log: c.err, Hosts: c.hosts}
	for _, p := range paths {
		o.Models = append(o.Models, explore.Source{Path: p, Weights: c.weights, Stdin: c.stdin})
	}
	if o.Versions, err = c.versions(ctx); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer l.Close()
	if a, err := netip.ParseAddrPort(l.Addr().String()); err == nil && !a.Addr().IsLoopback() {
		fmt.Fprintf(c.err, "zinc: %s is not a loopback address: everyone who reaches it can read the models\n",
			a.Addr())
		if !a.Addr().IsUnspecified() {
			o.Hosts = append(o.Hosts, a.Addr().String())
		}
	}
	s, err := explore.New(o)
	if err != nil {
		return err
	}
	defer func() {
		err = cmp.Or(err, s.Close())
	}()
	if c.once {
		fmt.Fprintf(c.err, "zinc: would serve the sample model and %d more\n", len(paths))
		return nil
	}
	address := fmt.Sprintf("http://%s/", l.Addr())
	if c.json {
		err = errors.Join(jsonform.Document(c.out, servingJSON{address, os.Getpid()}), c.flush())
	} else {
		fmt.Fprintf(c.err, "zinc: serving on %s, until interrupted\n", address)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.Warm(ctx)
	if c.open {
		browser.Stdout, browser.Stderr = c.err, c.err
		go func() { // it may run as long as the browser
			if err := browser.OpenURL(address); err != nil {
				fmt.Fprintf(c.err, "zinc: --open: %v; open %s\n", err, address)
			}
		}()
	}
	return s.Serve(ctx, l)
}
