package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
)

// loadCommand is the state of `zinc load`.
type loadCommand struct {
	pairCommand
	trace   string
	preempt bool
}

// loadJSON is what zinc load --json prints.
type loadJSON struct {
	Classes []loadClassJSON `json:"classes"`   // in the order of the file
	Took    cost.Time       `json:"us"`        // virtual time of the whole load
	Busy    cost.Time       `json:"busy_us"`   // of it, time in requests
	Aborted uint64          `json:"preempted"` // runs of requests that were aborted, with --preempt
}

// loadClassJSON is a class of clients and the latencies of its requests, in virtual time.
type loadClassJSON struct {
	Name      string    `json:"name"`      // of the class
	Priority  int       `json:"priority"`  // of its queue
	Sent      int       `json:"sent"`      // requests, without repeated ones
	Completed int       `json:"completed"` // requests
	Retried   int       `json:"retried"`   // requests
	Failed    int       `json:"failed"`    // requests that failed more often than they may be repeated
	Wrong     int       `json:"wrong"`     // requests whose outputs are not the engine\'s
	Killed    int       `json:"killed"`    // clients
	P50       cost.Time `json:"p50_us"`    // median latency
	P90       cost.Time `json:"p90_us"`    // latency that 90 % do not exceed
	P99       cost.Time `json:"p99_us"`    // latency that 99 % do not exceed
	Max       cost.Time `json:"max_us"`    // largest latency
}

// maxLoad is the maximum length in bytes of the description of a load.
const maxLoad = 16 << 20

// loadFile is the description of a load.
type loadFile struct {
	Seed    uint64 `json:"seed"`
	Faults  string `json:"faults"` // as --inject takes them
	Kills   int    `json:"kills"`
	Retries int    `json:"retries"`
	Classes []struct {
		Name     string   `json:"name"`
		Model    string   `json:"model"`    // pair or model, relative to the file
		Adapters []string `json:"adapters"` // pairs with other coefficients, which the clients take in turn
		Team     string   `json:"team"`     // "": each client has one of its own
		QoS      string   `json:"qos"`
		Clients  int      `json:"clients"`
		Requests int      `json:"requests"`
		Rate     float64  `json:"rate"`
		ThinkUS  float64  `json:"think_us"`
		Tier     string   `json:"tier"`
		Depth    int      `json:"queue_depth"`
		Keys     []string `json:"entitlements"`
	} `json:"classes"`
}

func newLoad(e *env) *cobra.Command {
	c := &loadCommand{pairCommand: pairCommand{env: e}}
	cmd := &cobra.Command{
		Use:   "load FILE",
		Short: "Replay a load of many clients and print latencies in virtual time",
		Long: `Load replays a described load on one simulated machine: classes of clients, each with a
model, a quality of service, and a rate of requests or a think time. Every client loads its
model through the broker and submits requests on its own connection to the driver, with a
wake port. Requests that arrive while another runs wait by priority. The latencies are in
virtual time, so the same file gives the same output on every machine. Every client has
inputs of its own, and its outputs are compared with those of the engine alone.

The file is JSON, 16 MiB at most: seed, faults (as --inject takes them), kills (clients
that end in the middle of their work), retries of a failed request, and classes, each
with name, model, adapters (pairs with other coefficients for that model, which the
clients take in turn), team (whose clients share the resident model), qos, clients,
requests of each client, and rate in requests a second of each client, or think_us, the
time after an answer; also tier (restricted or unrestricted), queue_depth, the requests of a
client that may be under way at once, and entitlements, the keys that its clients hold besides
those that every client of the broker and of the direct path needs.`,
		Example: `  zinc load load.json
  zinc load load.json --trace load.trace`,
		GroupID: groupRun,
		Args:    operands(1, 1, "one FILE"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.replayLoad(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&c.trace, "trace", "", "write a Chrome trace of every layer to `FILE`, for Perfetto")
	f.BoolVar(&c.preempt, "preempt", false, "abort a request between two tasks when a more urgent one waits; it "+
		"starts again (without it every request runs to its end)")
	f.BoolVar(&c.json, "json", false, "print JSON")
	c.model(f)
	c.cache.register(f)
	return cmd
}

// read reads the description and the models of a load.
func (c *loadCommand) read(ctx context.Context, path string) (*loadFile, *stack.Load, error) {
	b, err := c.stdin.ReadUpTo(path, maxLoad)
	if err != nil {
		return nil, nil, err
	}
	var f loadFile
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	l := &stack.Load{Seed: f.Seed, Kills: f.Kills, Retries: f.Retries}
	containers := map[string][]byte{}
	container := func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		if b, ok := containers[name]; ok {
			return b, nil
		}
		p, err := c.pair(ctx, name)
		containers[name] = p.Container
		return p.Container, err
	}
	for i, x := range f.Classes {
		if x.Model == "" {
			return nil, nil, fmt.Errorf("%s: class %d: missing model", path, i)
		}
		qos, err := classNamed(x.QoS)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: class %d: %w", path, i, err)
		}
		k := stack.LoadClass{Name: x.Name, Clients: x.Clients, QoS: qos, Rate: x.Rate, Requests: x.Requests,
			Team: x.Team, Think: time.Duration(cost.Micros(x.ThinkUS)), Tier: x.Tier, QueueDepth: x.Depth,
			Entitlements: x.Keys}
		k.Container, err = container(x.Model)
		for _, name := range x.Adapters {
			if err == nil {
				var b []byte
				b, err = container(name)
				k.Adapters = append(k.Adapters, b)
			}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: class %d: %w", path, i, err)
		}
		l.Classes = append(l.Classes, k)
	}
	return &f, l, nil
}

func (c *loadCommand) replayLoad(ctx context.Context, path string) error {
	if err := c.compileFlags.check(); err != nil {
		return err
	}
	f, l, err := c.read(ctx, path)
	if err != nil {
		return err
	}
	o := stack.Options{Workers: 1, Preempt: c.preempt}
	w, err := traceTo(c.trace)
	if err != nil {
		return err
	}
	defer w.discard()
	o.Trace = w.tracer()
	if f.Faults != "" {
		spec, err := inject.Parse(f.Faults)
		if err != nil {
			return fmt.Errorf("%s: faults: %w", path, err)
		}
		o.Inject = inject.New(spec, f.Seed)
	}
	s, err := stack.New(o)
	if err != nil {
		return err
	}
	out, err := s.Replay(ctx, l)
	if e := s.Close(); err == nil && f.Faults == "" {
		err = e
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := c.print(out); err != nil {
		return err
	}
	for _, x := range out.Classes {
		if x.Wrong > 0 {
			return &internalError{err: fmt.Errorf("class %q: the outputs of %d requests are wrong", x.Name, x.Wrong)}
		}
	}
	return w.commit()
}

// print prints the latencies of a load.
func (c *loadCommand) print(r *stack.LoadResult) error {
	busy := cost.Time(r.Took - r.Spent[cost.Waiting])
	if c.json {
		out := loadJSON{Classes: []loadClassJSON{}, Took: cost.Time(r.Took), Busy: busy, Aborted: r.Aborted}
		for _, x := range r.Classes {
			out.Classes = append(out.Classes, loadClassJSON{
				Name: x.Name, Priority: x.Priority, Sent: x.Sent, Completed: x.Completed, Retried: x.Retried,
				Failed: x.Failed, Wrong: x.Wrong, Killed: x.Killed, P50: cost.Time(x.P50), P90: cost.Time(x.P90),
				P99: cost.Time(x.P99), Max: cost.Time(x.Max),
			})
		}
		return jsonform.Document(c.out, out)
	}
	us := func(d time.Duration) string { return cost.Time(d).String() }
	t := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "class\tpriority\tsent\tcompleted\tretried\tfailed\twrong\tkilled"+
		"\tp50 us\tp90 us\tp99 us\tmax us\t")
	for _, x := range r.Classes {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t\n", x.Name, x.Priority, x.Sent,
			x.Completed, x.Retried, x.Failed, x.Wrong, x.Killed, us(x.P50), us(x.P90), us(x.P99), us(x.Max))
	}
	t.Flush()
	_, err := fmt.Fprintf(c.out, "%s of virtual time, %.1f %% of it in requests\n", cost.Time(r.Took).Short(),
		percentOf(busy, cost.Time(r.Took)))
	if err == nil && c.preempt {
		_, err = fmt.Fprintf(c.out, "%d runs of requests were aborted between tasks\n", r.Aborted)
	}
	return err
}
