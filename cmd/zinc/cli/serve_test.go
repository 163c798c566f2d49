package cli

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/zinc-compiler/zinc"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
)

// served starts `zinc serve` in this process and returns its socket.
func served(t *testing.T, args ...string) string {
	t.Helper()
	socket, _ := serving(t, args...)
	return socket
}

// serving is served with a function that stops it before the end of the test.
func serving(t *testing.T, args ...string) (socket string, stop func()) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "z.sock")
	ctx, cancel := context.WithCancel(context.Background())
	up := make(chan struct{})
	msg := &trigger{text: "serving on", f: func() { close(up) }}
	status := make(chan int, 1)
	var out bytes.Buffer
	go func() {
		status <- run(ctx, append([]string{"serve", "--socket", socket}, args...), strings.NewReader(""), &out, msg)
	}()
	select {
	case <-up:
	case s := <-status:
		t.Fatalf("serve ended with status %d", s)
	}
	stop = sync.OnceFunc(func() {
		cancel()
		if s := <-status; s != statusOK && s != statusInterrupted {
			t.Errorf("serve ended with status %d", s)
		}
		if _, err := os.Stat(socket); !os.IsNotExist(err) {
			t.Errorf("the socket is still there: %v", err)
		}
	})
	t.Cleanup(stop)
	return socket, stop
}

// TestServedMachineRunsModels runs a pair on a served machine, with classes of service and teams: the outputs equal the
// outputs of a machine of its own.
func TestServedMachineRunsModels(t *testing.T) {
	container, _, _ := pairFiles(t)
	socket := served(t)
	_, want, _ := call(t, "run", container, "--random", "3")
	for _, flags := range [][]string{nil, {"--qos", "user-initiated"}, {"--team", "A", "--qos", "background"},
		{"--qos", "real-time", "--entitlement", "com.apple.ane.realtime-priority-client"}} {
		args := append([]string{"run", container, "--random", "3", "--connect", socket}, flags...)
		if s, got, msg := call(t, args...); s != statusOK || got != want {
			t.Errorf("%v: status %d, %q, %s; want %q", flags, s, got, msg, want)
		}
	}
	for _, c := range []struct {
		flags []string
		want  string
		err   int
	}{
		{[]string{"--connect", socket, "--qos", "real-time"}, "does not hold", statusInput},
		{[]string{"--connect", socket + "2"}, "no such file", statusInput},
		{[]string{"--connect", socket, "--timing"}, "another process's machine", statusUsage},
		{[]string{"--qos", "default"}, "require --connect", statusUsage},
		{[]string{"--connect", socket, "--qos", "urgent"}, "classes are", statusUsage},
	} {
		args := append([]string{"run", container, "--random", "3"}, c.flags...)
		if s, _, msg := call(t, args...); s != c.err || !strings.Contains(msg, c.want) {
			t.Errorf("%v: status %d, %s; want status %d and %q", c.flags, s, msg, c.err, c.want)
		}
	}
	s, out, msg := call(t, "top", "--connect", socket, "--count", "1")
	if s != statusOK || !strings.Contains(out, "counters: calls 4, ") || !strings.Contains(out, "client ") {
		t.Errorf("top: status %d, %s%s", s, out, msg)
	}
	if s, _, msg := call(t, "serve", "--socket", socket); s == statusOK || !strings.Contains(msg, "another process") {
		t.Errorf("a second daemon on the socket: status %d, %s", s, msg)
	}
}

// TestProcessesShareAResidentProgram runs a pair on the program that another process has loaded, and a pair that is not
// the program's.
func TestProcessesShareAResidentProgram(t *testing.T) {
	container, _, _ := pairFiles(t)
	other := filepath.Join(t.TempDir(), "d.hwx")
	if s, _, msg := call(t, "../../../runtime/sim/stack/e5rt/testdata/tiny.mil", "-o", other); s != 0 {
		t.Fatal(msg)
	}
	socket := served(t)
	owner, err := stack.Dial(t.Context(), socket, stack.Self(broker.KeyModelShare), 0, stack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	p, err := zinc.ReadPair(container)
	if err != nil {
		t.Fatal(err)
	}
	owner.SetSharing(true, 0)
	if _, _, err := owner.Open(t.Context(), p.Container, false); err != nil {
		t.Fatal(err)
	}
	_, top, _ := call(t, "top", "--connect", socket, "--count", "1")
	listed := regexp.MustCompile(`(?m)^program (\d+): `).FindStringSubmatch(top)
	if listed == nil {
		t.Fatalf("top lists no program: %s", top)
	}
	_, want, _ := call(t, "run", container, "--random", "3")
	for _, c := range []struct {
		pair, resident, want string
		status               int
	}{
		{pair: container, resident: listed[1], status: statusOK},
		{pair: other, resident: listed[1], status: statusInput, want: "is of another container"},
		{pair: container, resident: "99", status: statusInput, want: "there is no resident program 99"},
	} {
		s, got, msg := call(t, "run", c.pair, "--random", "3", "--connect", socket, "--resident", c.resident,
			"--entitlement", broker.KeyModelShare)
		if s != c.status || !strings.Contains(msg, c.want) || s == statusOK && got != want {
			t.Errorf("resident program %s: status %d, %q, %s; want status %d and %q", c.resident, s, got, msg, c.status,
				c.want)
		}
	}
}

// TestLibraryDialsAServedMachine opens a pair and an adapter of it through the library, several clients at a time.
func TestLibraryDialsAServedMachine(t *testing.T) {
	container := filepath.Join(t.TempDir(), "d.hwx")
	db := filepath.Join(filepath.Dir(container), "d.zdb")
	if s, _, msg := call(t, filepath.Join(digits(t), "digits.mlmodelc"), "-o", container, "--debug-db", db); s != 0 {
		t.Fatal(msg)
	}
	socket := served(t)
	ctx := context.Background()
	p, err := zinc.ReadPair(container)
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]zinc.Tensor{"image": zinc.Of(make([]float32, 28*28), 1, 1, 28, 28)}
	own, err := p.Open(ctx, zinc.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	want, err := own.Run(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			m, err := p.Open(ctx, zinc.RunOptions{Connect: socket})
			if err != nil {
				t.Error(err)
				return
			}
			for range 20 {
				got, err := m.Run(ctx, in)
				if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%v, %v; want %v", got, err, want)
				}
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c, err := zinc.Dial(ctx, socket, zinc.DialOptions{QoS: "utility", Team: "A"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, err := c.OpenAdapter(ctx, p, p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(ctx, in); err == nil || !strings.Contains(err.Error(), "those of its base") {
		t.Errorf("a base as an adapter of itself: %v", err)
	}
	// A pair with other coefficients is an adapter; its outputs equal the outputs of the pair alone.
	patched := filepath.Join(t.TempDir(), "p.hwx")
	weights := "conv3_weight=" + filepath.Join(digits(t), "..", "patch", "testdata", "conv3_weight.npy")
	if s, _, msg := call(t, "patch", container, "--weights", weights, "-o", patched); s != statusOK {
		t.Fatal(msg)
	}
	other, err := zinc.ReadPair(patched)
	if err != nil {
		t.Fatal(err)
	}
	refused, err := c.OpenAdapter(ctx, other, p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := refused.Run(ctx, in); err == nil || !strings.Contains(err.Error(), zinc.AdapterWeight) {
		t.Errorf("an adapter of a process that claims no entitlement: %v", err)
	}
	keys := []string{zinc.AdapterWeight}
	if c, err = zinc.Dial(ctx, socket, zinc.DialOptions{QoS: "utility", Team: "A", Entitlements: keys}); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	adapted, err := c.OpenAdapter(ctx, other, p)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := other.Open(ctx, zinc.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	a, err := adapted.Run(ctx, in)
	b, err2 := alone.Run(ctx, in)
	if err != nil || err2 != nil || fmt.Sprint(a) != fmt.Sprint(b) || fmt.Sprint(a) == fmt.Sprint(want) {
		t.Errorf("the adapter gives %v, %v; alone %v, %v; the base %v", a, err, b, err2, want)
	}
	if _, err := zinc.Dial(ctx, socket, zinc.DialOptions{QoS: "urgent"}); err == nil {
		t.Error("an unknown class of service is accepted")
	}
}

// vacant waits until no client but this process is connected, and checks that what the others had loaded is released.
func vacant(t *testing.T, socket string) {
	t.Helper()
	r, err := broker.Dial(t.Context(), socket, (&connection{}).identity())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		st, err := r.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(st.Clients) == 1 { // the ends of the others are noticed on their sockets
			if len(st.Programs) != 0 || st.QueueSlots != 0 {
				t.Errorf("%d programs and %d queue slots are left", len(st.Programs), st.QueueSlots)
			}
			return
		}
	}
}

// TestServeRefusesWhatIsNoSocket keeps the files of others.
func TestServeRefusesWhatIsNoSocket(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, []byte("mine"))
	if s, _, msg := call(t, "serve", "--socket", file, "--dry-run"); s == statusOK || !strings.Contains(msg,
		"not a socket") {
		t.Errorf("status %d, %s", s, msg)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "mine" {
		t.Errorf("the file holds %q, %v", b, err)
	}
	// A socket that nobody serves is replaced.
	dead := filepath.Join(t.TempDir(), "dead")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if s, _, msg := call(t, "serve", "--socket", dead, "--dry-run"); s != statusOK {
		t.Errorf("status %d, %s", s, msg)
	}
}
