package broker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// serve listens on a socket of the test's own.
func listen(t testing.TB, b *Broker) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "broker") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- b.Serve(l) }()
	t.Cleanup(func() {
		b.Close()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
		os.RemoveAll(dir)
		soon(t, "connections end", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.peers) == 0 })
	})
	return path
}

func dial(t testing.TB, path string, id Identity) *Remote {
	t.Helper()
	r, err := Dial(t.Context(), path, id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// TestEveryMethodWorksOverASocket compares the results with the results of a connection in the broker's process.
func TestEveryMethodWorksOverASocket(t *testing.T) {
	b, _ := room(t, nil)
	path := listen(t, b)
	all := []string{KeyAdapterWeight, KeyModelShare, KeySecondaryCompiler, KeyAggressiveSaving, KeyPurgeAll,
		KeyDirectPath}
	ctx := t.Context()
	r, local := dial(t, path, caller(1, "A", all...)), connect(t, b, caller(2, "A", all...))
	if r.Tier() != Restricted {
		t.Errorf("tier %v", r.Tier())
	}
	c, adapted := container(t, 8, 1), container(t, 8, 2)
	compiled, err := r.Compile(ctx, CompileRequest{
		Files:     Files{{Name: "m", Data: c}},
		Options:   map[string]string{"a": "b"},
		Secondary: true,
	})
	if err != nil || !bytes.Equal(compiled.Container, c) || string(compiled.Descriptor) != "descriptor" {
		t.Fatalf("compile: %v", err)
	}
	m := load(t, r, LoadRequest{Container: compiled.Container, Identifier: "base", Share: true})
	near, err := local.Attach(ctx, AttachRequest{Resident: m.Resident})
	if err != nil || near.Digest != m.Digest {
		t.Fatalf("attach: %v", err)
	}
	far, err := r.Attach(ctx, AttachRequest{Resident: m.Resident})
	if err != nil || !far.Attached {
		t.Fatalf("attach: %v", err)
	}
	in := instantiate(t, r, InstanceRequest{Model: m.Model, QueueDepth: 3, QoS: QoSUtility})
	if in.QueueDepth != 3 || in.Priority != 6 {
		t.Errorf("instance %+v", in)
	}
	evaluate(t, r, in, c, 1)
	evaluate(t, local, instantiate(t, local, InstanceRequest{Model: near.Model}), c, 1)
	adapter, err := r.CreateInstanceWithWeights(ctx, WeightsRequest{
		Base:            "base",
		WeightFileCount: 1,
		WeightFiles:     section(t, adapted),
	})
	if err != nil {
		t.Fatal(err)
	}
	evaluate(t, r, adapter, adapted, 2)
	surfaces := surfacesOf(in.Procedures[0], 9)
	done := make(chan error)
	r.EvaluateAsync(ctx, EvaluateRequest{Instance: in.Instance, Surfaces: surfaces}, func(err error) { done <- err })
	if err := <-done; err != nil || !bytes.Equal(output(in.Procedures[0], surfaces), expected(c, in.Procedures[0], 9)) {
		t.Errorf("asynchronous evaluation: %v", err)
	}
	if d, err := r.OpenDirectPath(ctx, DirectPathRequest{Instance: in.Instance}); err != nil || d.Program == 0 {
		t.Errorf("direct path: %v", err)
	}
	if d, err := r.PrepareChaining(ctx, ChainingRequest{Instance: in.Instance}); err != nil || d.Chain == 0 {
		t.Errorf("chaining: %v", err)
	}
	if err := r.ReleaseInstance(ctx, ReleaseRequest{Instance: adapter.Instance}); err != nil {
		t.Error(err)
	}
	if p, err := r.Purge(ctx, PurgeRequest{AllPartitions: true}); err != nil || p.Models != 1 {
		t.Errorf("purge: %v, %v", p, err)
	}
	if err := r.Unload(ctx, UnloadRequest{Model: m.Model}); err != nil {
		t.Error(err)
	}
	// Errors cross as they are.
	_, err = r.CreateInstance(ctx, InstanceRequest{Model: 12345})
	refused(t, err, NotFound)
	if e, ok := err.(*Error); !ok || e.Method != mInstance || e.Return != 0xe00002f0 {
		t.Errorf("error %#v", err)
	}
	_, err = Dial(ctx, path, Identity{PID: 1, TeamID: "A"})
	refused(t, err, NotEntitled)
}

// TestSocketClients runs many concurrent callers, some of which vanish.
func TestSocketClients(t *testing.T) {
	b, k := room(t, nil)
	path := listen(t, b)
	cs := [][]byte{container(t, 8, 1), container(t, 8, 2), container(t, 8, 3)}
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			r, err := Dial(t.Context(), path, caller(100+i, fmt.Sprint("team", i%4), KeyModelShare))
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			c := cs[i%3]
			m, err := r.Load(t.Context(), LoadRequest{Container: c, Share: i%2 == 0})
			if err != nil {
				t.Error(err)
				return
			}
			in, err := r.CreateInstance(t.Context(), InstanceRequest{Model: m.Model, QueueDepth: 4})
			if err != nil {
				t.Error(err)
				return
			}
			var calls sync.WaitGroup
			for j := range 8 {
				calls.Go(func() {
					for n := range 5 {
						evaluate(t, r, in, c, byte(i*40+j*5+n))
					}
				})
			}
			calls.Wait()
			if i%5 == 0 {
				r.EvaluateAsync(context.Background(), EvaluateRequest{
					Instance: in.Instance,
					Surfaces: surfacesOf(in.Procedures[0], 1),
				}, func(error) {})
			}
		})
	}
	wg.Wait()
	soon(t, "everything is released", func() bool { return b.Report() == Report{} })
	k.clean(t)
}

// TestCancelReachesTheBroker checks the end of a context and of a connection.
func TestCancelReachesTheBroker(t *testing.T) {
	stopped := make(chan error, 10)
	begun := make(chan struct{}, 10)
	b, _ := room(t, func(c *Config) {
		c.Compile = func(ctx context.Context, r CompileRequest) ([]byte, []byte, error) {
			begun <- struct{}{}
			<-ctx.Done()
			stopped <- ctx.Err()
			return nil, nil, ctx.Err()
		}
	})
	path := listen(t, b)
	r := dial(t, path, caller(1, "A"))
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error)
	go func() {
		_, err := r.Compile(ctx, CompileRequest{Files: Files{{Name: "m"}}})
		got <- err
	}()
	<-begun
	cancel()
	refused(t, <-got, Aborted)
	<-stopped
	go r.Compile(context.Background(), CompileRequest{Files: Files{{Name: "m"}}})
	<-begun
	r.Close()
	<-stopped // the compilation of a caller that is gone ends
	soon(t, "the connection is released", func() bool { return b.Report().Connections == 0 })
}

// TestHostilePeersEndAlone checks invalid bytes, calls before Hello, messages beyond the limit, a peer that does not
// read replies, and one that sends nothing.
func TestHostilePeersEndAlone(t *testing.T) {
	b, _ := room(t, func(c *Config) {
		c.Limits.MessageBytes, c.Limits.Handshake, c.Limits.Write = 1<<20, 200*time.Millisecond, 200*time.Millisecond
		c.Compile = func(context.Context, CompileRequest) ([]byte, []byte, error) {
			return make([]byte, 1<<20), nil, nil
		}
	})
	path := listen(t, b)
	c := container(t, 8, 1)
	good := dial(t, path, caller(1, "A"))
	m := load(t, good, LoadRequest{Container: c})
	in := instantiate(t, good, InstanceRequest{Model: m.Model})
	raw := func() net.Conn {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	ends := func(what string, conn net.Conn) {
		t.Helper()
		t.Logf("waiting for the end of the connection with %s", what)
		io.Copy(io.Discard, conn)
		evaluate(t, good, in, c, 1)
	}
	for _, junk := range []string{"GET / HTTP/1.0\r\n\r\n", "\xff\xff\xff\xff", "\xf8\x7f\xff\xff\xff\xff\xff\xff\xff",
		strings.Repeat("\x00", 100), strings.Repeat("A", 1<<16)} {
		conn := raw()
		io.WriteString(conn, junk)
		if u, ok := conn.(*net.UnixConn); ok {
			u.CloseWrite()
		}
		ends(fmt.Sprintf("junk %.10q", junk), conn)
	}
	ends("silence", raw())

	// A call before Hello is refused, and names what is missing.
	client := rpc.NewClient(raw())
	var a Answer[LoadReply]
	if err := client.Call(serviceName+".Load", &Call[LoadRequest]{Value: LoadRequest{Container: c}}, &a); err != nil ||
		a.Err == nil || a.Err.Code != NotEntitled {
		t.Errorf("a call before Hello: %v, %v", err, a.Err)
	}
	for _, m := range []string{"Broker.Nothing", "Broker.Serve", "rpc.x", "", ".", "Broker"} {
		if err := client.Call(m, &Call[LoadRequest]{}, &a); err == nil {
			t.Errorf("method %q exists", m)
		}
	}
	client.Close()

	// Nor may who has not said who it is send much.
	conn := raw()
	client = rpc.NewClient(conn)
	err := client.Call(serviceName+".Load",
		&Call[LoadRequest]{Value: LoadRequest{Container: make([]byte, 2*helloBytes)}}, &a)
	if err == nil {
		t.Error("a large message before Hello was read")
	}
	client.Close()

	// A second Hello changes nothing.
	conn = raw()
	client = rpc.NewClient(conn)
	id := caller(2, "B")
	var tier Answer[Tier]
	for i := range 2 {
		tier = Answer[Tier]{}
		if err := client.Call(serviceName+".Hello", &id, &tier); err != nil || (tier.Err != nil) != (i == 1) {
			t.Errorf("Hello %d: %v, %v", i, err, tier.Err)
		}
	}

	// A message beyond the limit.
	go client.Call(serviceName+".Load", &Call[LoadRequest]{Value: LoadRequest{Container: make([]byte, 2<<20)}}, &a)
	soon(t, "the sender of too long a message is gone", func() bool { return b.Report().Connections == 1 })
	client.Close()

	// A peer that sends requests and never reads.
	conn = raw()
	out := bufio.NewWriter(conn)
	enc := gob.NewEncoder(out)
	enc.Encode(&rpc.Request{ServiceMethod: serviceName + ".Hello", Seq: 0})
	enc.Encode(&id)
	go func() {
		for i := range 200 {
			if enc.Encode(&rpc.Request{ServiceMethod: serviceName + ".Compile", Seq: uint64(i + 1)}) != nil {
				return
			}
			enc.Encode(&Call[CompileRequest]{Value: CompileRequest{Files: Files{{Name: "m",
				Data: []byte{byte(i)}}}}})
			if out.Flush() != nil {
				return
			}
		}
	}()
	soon(t, "the peer is there", func() bool { return b.Report().Connections == 2 })
	soon(t, "the peer that never reads is gone", func() bool { return b.Report().Connections == 1 })
	evaluate(t, good, in, c, 1)
}

// TestBytesInFlightAreBounded checks that the calls of a connection in flight have at most twice the limit of a
// message, and their outputs the limit.
func TestBytesInFlightAreBounded(t *testing.T) {
	b, _ := room(t, func(c *Config) { c.Limits.MessageBytes = 40 << 10 })
	path := listen(t, b)
	r := dial(t, path, caller(1, "A"))
	c := container(t, 8, 1)
	local := connect(t, b, caller(2, "A"))
	if len(c) < 40<<10 {
		t.Fatal("the container was to be larger than a message")
	}
	if _, err := r.Load(t.Context(), LoadRequest{Container: c}); err == nil {
		t.Error("a message beyond the limit was taken")
	}
	// In this process the same load succeeds.
	load(t, local, LoadRequest{Container: c})

	l := ledger{}
	l.room = sync.NewCond(&l.mu)
	l.add(1, 10)
	l.add(1, 20)
	l.add(2, 5)
	through := make(chan bool)
	go func() { l.wait(20); close(through) }()
	l.remove(7)
	l.remove(1)
	select {
	case <-through:
		t.Error("25 bytes are under way, and 20 were waited for")
	case <-time.After(20 * time.Millisecond):
	}
	l.remove(1)
	<-through
	l.remove(2)
	if l.bytes != 0 || len(l.calls) != 0 {
		t.Errorf("%d bytes of %d calls are left", l.bytes, len(l.calls))
	}
}

// TestOutputsInFlight checks that evaluations are refused if there is no space for their outputs.
func TestOutputsInFlight(t *testing.T) {
	c := container(t, 8, 1) // 3072 bytes of output, and as many of input
	b, k := room(t, func(cfg *Config) { cfg.Limits.MessageBytes = int64(len(c)) + 4096 })
	outputs := int((int64(len(c)) + 4096) / 3072)
	k.hold, k.started = make(chan struct{}), make(chan struct{}, 1000)
	path := listen(t, b)
	r := dial(t, path, caller(1, "A"))
	m := load(t, r, LoadRequest{Container: c})
	in := instantiate(t, r, InstanceRequest{Model: m.Model, QueueDepth: 100})
	n := outputs + 5
	if n > 31 {
		t.Skip("the container is too large for this test")
	}
	done := make(chan error, n)
	for range n {
		r.EvaluateAsync(t.Context(), EvaluateRequest{
			Instance: in.Instance,
			Surfaces: surfacesOf(in.Procedures[0], 1),
		}, func(err error) { done <- err })
	}
	refusals := 0
	for range 5 {
		if err := <-done; isCode(err, NoMemory) {
			refusals++
		} else {
			t.Errorf("an evaluation beyond the room: %v", err)
		}
	}
	close(k.hold)
	for range n - 5 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	evaluate(t, r, in, c, 3)
}

// TestPeersAreIdentifiedByTheKernel checks process and user.
func TestPeersAreIdentifiedByTheKernel(t *testing.T) {
	b, _ := room(t, func(c *Config) { c.Attest = nil })
	path := listen(t, b)
	id := caller(os.Getpid(), "A")
	id.UID = os.Getuid()
	dial(t, path, id)
	for _, change := range []func(*Identity){func(i *Identity) { i.PID++ }, func(i *Identity) { i.UID++ }} {
		lie := id
		change(&lie)
		_, err := Dial(t.Context(), path, lie)
		refused(t, err, NotEntitled)
	}
	if _, err := Peer(&net.TCPConn{}, id); err == nil {
		t.Error("the peer of a connection that is no Unix socket is vouched for")
	}
}

// childPath is the variable that passes a child process of the tests the address of its broker.
const childPath = "BROKER_TEST_SOCKET"

// TestMain is the child of TestProcessesShareAProgram if the environment says so.
func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if err := child(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child evaluates until its standard input ends; it says each time that it has.
func child(path string) error {
	ctx := context.Background()
	id := caller(os.Getpid(), "A", KeyModelShare)
	id.UID = os.Getuid()
	r, err := Dial(ctx, path, id)
	if err != nil {
		return err
	}
	defer r.Close()
	c, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	m, err := r.Load(ctx, LoadRequest{Container: c, Share: true})
	if err != nil {
		return err
	}
	in, err := r.CreateInstance(ctx, InstanceRequest{Model: m.Model, QueueDepth: 2})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		p := in.Procedures[0]
		s := surfacesOf(p, byte(i))
		if err := r.Evaluate(ctx, EvaluateRequest{Instance: in.Instance, Surfaces: s}); err != nil {
			return err
		}
		if !bytes.Equal(output(p, s), expected(c, p, byte(i))) {
			return fmt.Errorf("evaluation %d: wrong output", i)
		}
		if _, err := fmt.Println(m.Resident); err != nil {
			return err
		}
	}
}

// TestProcessesShareAProgram kills one process in the middle of its work, and checks that the others continue and that
// nothing of it is left.
func TestProcessesShareAProgram(t *testing.T) {
	b, k := room(t, func(c *Config) { c.Attest = nil })
	path := listen(t, b)
	c := container(t, 8, 1)
	type process struct {
		*exec.Cmd
		out *bufio.Scanner
	}
	var all []process
	for range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childPath+"="+path)
		cmd.Stdin, cmd.Stderr = bytes.NewReader(c), os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		all = append(all, process{cmd, bufio.NewScanner(out)})
	}
	resident := ""
	step := func(p process, n int) {
		t.Helper()
		for range n {
			if !p.out.Scan() {
				t.Fatal("a process that was not killed has ended")
			}
			if resident == "" {
				resident = p.out.Text()
			}
			if p.out.Text() != resident {
				t.Fatalf("resident program %s, another process has %s", p.out.Text(), resident)
			}
		}
	}
	for _, p := range all {
		step(p, 3)
	}
	if r := b.Report(); r.Connections != 3 || r.Instances != 3 || r.Residents != 1 || r.Tenants != 1 {
		t.Errorf("with three processes: %+v", r)
	}
	all[0].Process.Kill()
	soon(t, "what the killed process held is released", func() bool {
		r := b.Report()
		return r.Connections == 2 && r.Instances == 2 && r.Models == 2
	})
	step(all[1], 5)
	step(all[2], 5)
	all[1].Process.Kill()
	all[2].Process.Kill()
	soon(t, "everything is released", func() bool { return b.Report() == Report{} })
	k.clean(t)
}
