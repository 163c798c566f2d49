package cli

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/internal/testmodel"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
)

// crowdEnv makes the test binary a client process, which this variable describes.
const crowdEnv = "ZINC_CROWD"

// crowdClient describes a client process.
type crowdClient struct {
	Socket, Base, Adapter string
	QoS, Team             string
	Seed                  uint64
	Requests              int
	Seat                  int // 0: the machine does not run its clients in lockstep
	Dies                  int // in lockstep, the request before which it kills itself; 0: none
}

// crowdRetries is how often a client repeats a request that failed.
const crowdRetries = 20

// crowdMain is the program of a client process: it runs its adapter on the served machine on inputs of its own and
// compares every output with the output of its own machine. It prints "at N" after each tenth request, and "done R"
// with the number of repeated requests.
func crowdMain(description string) {
	c := &crowdClient{}
	err := json.Unmarshal([]byte(description), c)
	repeated := 0
	if err == nil {
		repeated, err = c.run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("done", repeated)
	os.Exit(0)
}

func (c *crowdClient) run(ctx context.Context) (repeated int, err error) {
	base, err := zinc.ReadPair(c.Base)
	if err != nil {
		return 0, err
	}
	adapter, err := zinc.ReadPair(c.Adapter)
	if err != nil {
		return 0, err
	}
	keys := []string{zinc.AdapterWeight}
	for _, q := range broker.QoSClasses {
		if q.Name == c.QoS {
			keys = append(keys, q.Keys...)
		}
	}
	conn, err := zinc.Dial(ctx, c.Socket, zinc.DialOptions{
		QoS: c.QoS, Team: c.Team, Entitlements: keys, Seat: c.Seat, QueueDepth: 1,
	})
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	// again repeats what a fault has ended.
	again := func(do func() error) error {
		for {
			err := do()
			if err == nil || repeated == crowdRetries*c.Requests {
				return err
			}
			repeated++
		}
	}
	var m *zinc.Model
	err = again(func() (err error) { m, err = conn.OpenAdapter(ctx, adapter, base); return err })
	if err != nil {
		return repeated, err
	}
	own, err := adapter.Open(ctx, zinc.RunOptions{})
	if err != nil {
		return repeated, err
	}
	defer own.Close()
	port := own.Functions()[0].Inputs[0]
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	const cases = 8
	var inputs, want [cases]map[string]zinc.Tensor
	for i := range cases {
		n := int64(1)
		for _, d := range port.Shape {
			n *= d
		}
		var x []byte
		for range n {
			x = binary.LittleEndian.AppendUint16(x, uint16(rng.UintN(0x3c00))) // fp16 numbers from 0 to 1
		}
		inputs[i] = map[string]zinc.Tensor{port.Name: {Type: port.Element, Shape: port.Shape, Data: x}}
		if want[i], err = own.Run(ctx, inputs[i]); err != nil {
			return repeated, err
		}
	}
	for i := range c.Requests {
		if c.Dies > 0 && i == c.Dies {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			return repeated, errors.Join(err, errors.New("it should have been killed"))
		}
		conn.Think(time.Duration(rng.IntN(400)) * time.Microsecond)
		began := conn.Now()
		var got map[string]zinc.Tensor
		err := again(func() (err error) { got, err = m.Run(ctx, inputs[i%cases]); return err })
		if err != nil {
			return repeated, fmt.Errorf("request %d: %w", i, err)
		}
		if !reflect.DeepEqual(got, want[i%cases]) {
			return repeated, fmt.Errorf("request %d: another output", i)
		}
		if c.Seat > 0 {
			fmt.Println("took", int64(conn.Now()-began))
		} else if i%10 == 0 {
			fmt.Println("at", i)
		}
	}
	return repeated, nil
}

// compiledLayer compiles a layer of a test model in a folder and returns the path of its container.
func compiledLayer(t *testing.T, dir string, kind int, seed uint64) string {
	t.Helper()
	mil := filepath.Join(dir, fmt.Sprintf("%d_%d.mil", kind, seed))
	put(t, mil, []byte(testmodel.Layer(kind, seed)))
	hwx := strings.TrimSuffix(mil, ".mil") + ".hwx"
	if s, _, msg := call(t, mil, "-o", hwx); s != statusOK {
		t.Fatal(msg)
	}
	return hwx
}

// TestServedMachineLosesNothingOfSurvivors runs 64 client processes of all eight priorities on a served machine, on
// four models with an adapter each, with faults. Ten of them are killed at random; the others get all of their answers,
// with the right bytes, and the trace shows strict priority.
func TestServedMachineLosesNothingOfSurvivors(t *testing.T) {
	if testing.Short() {
		t.Skip("64 processes take seconds")
	}
	requests := testform.Of(0, 20, 1880) // of each: over 100,000 in the long form
	const clients, kills = 64, 10
	dir := t.TempDir()
	var bases [testmodel.Layers]string
	for kind := range bases {
		bases[kind] = compiledLayer(t, dir, kind, 0)
	}
	traced := filepath.Join(dir, "trace.json")
	socket, stop := serving(t, "--trace", traced, "--inject-seed", "1", "--inject",
		"translation:p=0.0006; exception@task:p=0.0003; crash@post:p=0.0003; stuck:p=0.0005")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	victims := rng.Perm(clients)[:kills]
	type result struct {
		repeated int
		err      error
	}
	results := make(chan result, clients)
	for i := range clients {
		kind := i % len(bases)
		c := &crowdClient{
			Socket:   socket,
			Base:     bases[kind],
			Adapter:  compiledLayer(t, dir, kind, uint64(1+i)),
			QoS:      broker.QoSClasses[i/len(bases)%len(broker.QoSClasses)].Name,
			Team:     fmt.Sprint("TEAM", kind),
			Seed:     uint64(i),
			Requests: requests,
		}
		at := -1 // kills it after as many lines
		if slices.Contains(victims, i) {
			at = rng.IntN(requests / 10)
			c.Requests = 1 << 30 // it does not end by itself
		}
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), crowdEnv+"="+string(b))
		var msg strings.Builder
		cmd.Stderr = &msg
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			r := result{repeated: -1}
			lines := 0
			for s := bufio.NewScanner(out); s.Scan(); lines++ {
				if lines == at {
					_ = cmd.Process.Kill()
				}
				_, _ = fmt.Sscanf(s.Text(), "done %d", &r.repeated)
			}
			err := cmd.Wait()
			if at < 0 && (err != nil || r.repeated < 0) {
				r.err = fmt.Errorf("client %d: %v, %s", i, err, &msg)
			} else if at >= 0 && err == nil {
				r.err = fmt.Errorf("client %d ended before it was killed", i)
			}
			results <- r
		}()
	}
	repeated := 0
	for range clients {
		r := <-results
		if r.err != nil {
			t.Error(r.err)
		}
		repeated += max(r.repeated, 0)
	}
	vacant(t, socket)
	stop()
	n := (clients - kills) * requests
	t.Logf("%d requests of survivors, %d repeated after faults (%.2f %%), %d clients killed", n, repeated,
		100*float64(repeated)/float64(n), kills)
	if repeated == 0 {
		t.Error("no request met a fault")
	}
	strictlyByPriority(t, traced, n)
}

// TestLockstepGivesTheSameTrace runs 64 client processes in lockstep twice, with the same seeds: all eight priorities,
// four models with an adapter each, faults, and ten clients that are killed. The two traces are the same byte for byte.
// It prints the latencies of each class in virtual time.
func TestLockstepGivesTheSameTrace(t *testing.T) {
	if testing.Short() {
		t.Skip("64 processes take seconds")
	}
	requests := testform.Of(0, 10, 1880) // of each: over 100,000 in the long form
	const clients, kills = 64, 10
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(6, 6))
	dies := map[int]int{}
	for _, i := range rng.Perm(clients)[:kills] {
		dies[i] = 1 + rng.IntN(requests-1)
	}
	var crowd []*crowdClient
	for i := range clients {
		kind := i % testmodel.Layers
		crowd = append(crowd, &crowdClient{
			Base:     filepath.Join(dir, fmt.Sprintf("%d_0.hwx", kind)),
			Adapter:  compiledLayer(t, dir, kind, uint64(1+i)),
			QoS:      broker.QoSClasses[i/testmodel.Layers%len(broker.QoSClasses)].Name,
			Team:     fmt.Sprint("TEAM", kind),
			Seed:     uint64(i),
			Requests: requests,
			Seat:     1 + i,
			Dies:     dies[i],
		})
	}
	for kind := range testmodel.Layers {
		compiledLayer(t, dir, kind, 0)
	}
	var traces [2]string
	var mu sync.Mutex
	took := map[string][]time.Duration{} // by class, of the first run
	for run := range traces {
		file := filepath.Join(dir, fmt.Sprintf("trace%d.json", run))
		traces[run] = file
		socket, stop := serving(t, "--lockstep", fmt.Sprint(clients), "--trace", file, "--inject-seed", "1", "--inject",
			"translation:p=0.0006; exception@task:p=0.0003; crash@post:p=0.0003; stuck:p=0.0005")
		var wait sync.WaitGroup
		for _, c := range crowd {
			c.Socket = socket
			b, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			wait.Go(func() {
				self, err := os.Executable()
				if err != nil {
					t.Error(err)
					return
				}
				cmd := exec.Command(self)
				cmd.Env = append(os.Environ(), crowdEnv+"="+string(b))
				out, err := cmd.CombinedOutput()
				if killed := dies[c.Seat-1] > 0; (err != nil) != killed || killed && cmd.ProcessState.Exited() {
					t.Errorf("client %d: %v\n%s", c.Seat, err, out)
				}
				mu.Lock()
				defer mu.Unlock()
				for line := range strings.Lines(string(out)) {
					var d time.Duration
					if n, _ := fmt.Sscanf(line, "took %d", &d); n == 1 && run == 0 {
						took[c.QoS] = append(took[c.QoS], d)
					}
				}
			})
		}
		wait.Wait()
		stop()
		strictlyByPriority(t, file, requests*(clients-kills))
	}
	sameLines(t, traces[0], traces[1])
	for _, q := range broker.QoSClasses {
		l := took[q.Name]
		slices.Sort(l)
		if len(l) == 0 {
			t.Errorf("class %s has no latencies", q.Name)
			continue
		}
		at := func(percent int) time.Duration { return l[(len(l)-1)*percent/100] }
		t.Logf("%-16s %6d requests, latency at 50 %%: %v, 90 %%: %v, 99 %%: %v, longest %v", q.Name, len(l), at(50),
			at(90), at(99), at(100))
	}
}

// sameLines checks that two files have the same bytes.
func sameLines(t *testing.T, a, b string) {
	t.Helper()
	var lines [2]*bufio.Scanner
	for i, file := range []string{a, b} {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines[i] = bufio.NewScanner(f)
	}
	for n := 1; ; n++ {
		more, also := lines[0].Scan(), lines[1].Scan()
		if more != also || lines[0].Text() != lines[1].Text() {
			t.Fatalf("line %d differs:\n%s\n%s", n, lines[0].Text(), lines[1].Text())
		}
		if !more {
			break
		}
	}
	if err := errors.Join(lines[0].Err(), lines[1].Err()); err != nil {
		t.Error(err)
	}
}

// strictlyByPriority checks in a trace that no request began while a more urgent one waited, or an older one of its own
// priority. There must be at least n requests, of all eight priorities.
func strictlyByPriority(t *testing.T, file string, n int) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	type request struct{ Priority, Action int }
	var waiting []request
	begun := map[int]int{} // by priority
	total, overtaken := 0, 0
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		text := strings.Trim(lines.Text(), ",")
		enters, begins := strings.Contains(text, `"ANEScheduler::enqueue"`), strings.Contains(text,
			`"ANEScheduler::dequeue"`)
		if !enters && !begins {
			continue
		}
		var e struct{ Args request }
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		r := e.Args
		if enters {
			waiting = append(waiting, r)
			continue
		}
		i := slices.Index(waiting, r)
		if i < 0 {
			t.Fatalf("request %+v did not wait", r)
		}
		for _, w := range waiting {
			if w.Priority < r.Priority || w.Priority == r.Priority && w.Action < r.Action {
				t.Fatalf("request %+v began before %+v", r, w)
			}
			if w.Action < r.Action {
				overtaken++
			}
		}
		waiting = slices.Delete(waiting, i, i+1)
		begun[r.Priority]++
		total++
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if total < n || len(begun) != 8 || overtaken == 0 {
		t.Errorf("the trace has %d requests, of priorities %v, of which %d went before older ones; want %d of 8 "+
			"priorities", total, begun, overtaken, n)
	}
}
