package explore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var loadTime = flag.Duration("load", 2*time.Second, "how long TestServerStaysUpUnderHostileLoad asks")

// loadClients ask at a time.
const loadClients = 8

// loadLimits are tight, so that hostile requests meet them.
var loadLimits = Limits{
	Body:     256 << 10,
	Time:     5 * time.Second,
	Heap:     512 << 20,
	Buffers:  64 << 20,
	Jobs:     2,
	Waiting:  32,
	Requests: 64,
	Views:    6,
	Kept:     32 << 20,
}

// attack makes the body of a request that is up to no good. Every answer but one of
// status 500 is right.
type attack struct {
	name string
	path string
	body func(r *rand.Rand, text string) string
}

// asText wraps a model text into a request to compile.
func asText(s string) string {
	b, err := json.Marshal(Config{Model: "digits", Text: &s})
	if err != nil {
		panic(err) // a string always encodes
	}
	return string(b)
}

// program wraps statements into a program of one input, a tensor of 8 halves.
func program(body, result string) string {
	return asText("program(1.3)\n{\n func main<ios18>(tensor<fp16, [8]> x) {\n" + body + "\n } -> (" + result +
		");\n}\n")
}

var attacks = []attack{
	{"no JSON", "/api/compile", func(r *rand.Rand, _ string) string {
		b := make([]byte, r.IntN(4096))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return string(b)
	}},
	{"deep JSON", "/api/compile", func(*rand.Rand, string) string { return strings.Repeat(`{"model":[`, 20_000) }},
	{"cut JSON", "/api/diff", func(r *rand.Rand, text string) string { s := asText(text); return s[:r.IntN(len(s))] }},
	{"too long", "/api/compile", func(*rand.Rand, string) string { return asText(strings.Repeat("x", 300<<10)) }},
	{"changed text", "/api/compile", func(r *rand.Rand, text string) string {
		b := []byte(text)
		for range 1 + r.IntN(8) {
			b[r.IntN(len(b))] = byte(' ' + r.IntN(95))
		}
		return asText(string(b))
	}},
	{"cut text", "/api/compile", func(r *rand.Rand, text string) string { return asText(text[:r.IntN(len(text))]) }},
	{"deep text", "/api/compile", func(*rand.Rand, string) string {
		return asText("program(1.3)\n" + strings.Repeat("{[(", 50_000))
	}},
	{"many errors", "/api/compile", func(r *rand.Rand, _ string) string {
		var b strings.Builder
		for i := range 3000 {
			fmt.Fprintf(&b, "fp16 v%d = relu(x = w%d)[name = string(\"v\")];\n", i, r.IntN(1<<30))
		}
		return program(b.String(), "v0")
	}},
	{"large constant", "/api/compile", func(r *rand.Rand, _ string) string {
		n := int64(1) << (16 + r.IntN(15))
		return program(fmt.Sprintf("tensor<int32, [1]> s = const()[name = string(\"s\"), val = tensor<int32, "+
			"[1]>([%d])];\nfp16 v = const()[name = string(\"v\"), val = fp16(0x1p0)];\ntensor<fp16, [%d]> y = "+
			"fill(shape = s, value = v)[name = string(\"y\")];", n, n), "y")
	}},
	{"large product", "/api/compile", func(r *rand.Rand, _ string) string {
		n := 1 << (10 + r.IntN(12))
		return program(fmt.Sprintf("tensor<int32, [2]> s = const()[name = string(\"s\"), val = tensor<int32, "+
			"[2]>([%d, 1])];\ntensor<int32, [2]> reps = const()[name = string(\"r\"), val = tensor<int32, [2]>([1, "+
			"%d])];\ntensor<fp16, [8, 1]> e = reshape(x = x, shape = s)[name = string(\"e\")];\ntensor<fp16, [8, "+
			"%d]> y = tile(x = e, reps = reps)[name = string(\"y\")];", 8, n, n), "y")
	}},
	{"many operations", "/api/compile", func(r *rand.Rand, _ string) string {
		var b strings.Builder
		last := "x"
		for i := range 200 + r.IntN(1800) {
			fmt.Fprintf(&b, "tensor<fp16, [8]> v%d = add(x = %s, y = x)[name = string(\"v%d\")];\n", i, last, i)
			last = fmt.Sprintf("v%d", i)
		}
		return program(b.String(), last)
	}},
	{"outside weights", "/api/compile", func(*rand.Rand, string) string {
		return program("tensor<fp16, [8]> w = const()[name = string(\"w\"), val = tensor<fp16, [8]>(BLOBFILE(path "+
			"= string(\"@model_path/../../../../../etc/passwd\"), offset = uint64(0)))];\ntensor<fp16, [8]> y = "+
			"add(x = x, y = w)[name = string(\"y\")];", "y")
	}},
	{"far weights", "/api/compile", func(r *rand.Rand, text string) string {
		return asText(strings.Replace(text, "uint64(448)", fmt.Sprintf("uint64(%d)", r.Uint64()), 1))
	}},
	{"other target", "/api/compile", func(r *rand.Rand, text string) string {
		c := Config{Model: "digits", Target: targetNames()[r.IntN(len(targetNames()))], Text: &text}
		*c.Text += strings.Repeat(" ", r.IntN(1000))
		b, _ := json.Marshal(c)
		return string(b)
	}},
	{"no version", "/api/compile", func(r *rand.Rand, _ string) string {
		b, _ := json.Marshal(Config{
			Model:   "digits",
			Version: []string{"/bin/sh", "../zinc", "", "this\x00", strings.Repeat("v", 1<<r.IntN(17))}[r.IntN(5)],
		})
		return string(b)
	}},
	{"shapes", "/api/diff", func(r *rand.Rand, _ string) string {
		s := map[string][]int64{"image": make([]int64, r.IntN(9)), strings.Repeat("x", r.IntN(1000)): {-1}}
		for i := range s["image"] {
			s["image"][i] = r.Int64() >> r.IntN(63)
		}
		b, _ := json.Marshal(diffQuery{
			A:       Config{Model: "digits"},
			B:       Config{Model: "digits", Shapes: s},
			Outputs: true,
		})
		return string(b)
	}},
	{"two texts", "/api/diff", func(r *rand.Rand, text string) string {
		a, b := strings.Repeat(text, 1+r.IntN(3)), text+strings.Repeat("\n", r.IntN(5000))
		q := diffQuery{
			A:       Config{Model: "digits", Text: &a},
			B:       Config{Model: "digits", Text: &b},
			Outputs: r.IntN(4) == 0,
			Bytes:   r.IntN(2) == 0,
		}
		out, _ := json.Marshal(q)
		return string(out)
	}},
	{"run of nothing", "/api/view/000000000000000000000000/run", func(*rand.Rand, string) string { return "{}" }},
}

// TestServerStaysUpUnderHostileLoad asks with several clients at once, good requests and hostile ones mixed:
// the server stays up, its heap bounded, and good requests get the answers that a
// quiet server gives.
func TestServerStaysUpUnderHostileLoad(t *testing.T) {
	if testing.Short() {
		*loadTime = min(*loadTime, time.Second)
	}
	goroutines := runtime.NumGoroutine()
	var log bytes.Buffer
	s, err := New(Options{Limits: loadLimits, Models: []Source{{Path: digits}}, Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	c := &client{t: t, s: s, url: "http://" + l.Addr().String()}
	want := goodAnswers(t, c)
	var src sourceText
	c.must("/api/source?model=digits", nil, &src)

	var peak atomic.Uint64
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Add(1)
	go func() {
		defer wait.Done()
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				metrics.Read(sample)
				peak.Store(max(peak.Load(), sample[0].Value.Uint64()))
			}
		}
	}()
	var good, hostile, refused atomic.Int64
	statuses := map[string]map[int]int{}
	var mu sync.Mutex
	end := time.Now().Add(*loadTime)
	var clients sync.WaitGroup
	for i := range loadClients {
		clients.Add(1)
		go func() {
			defer clients.Done()
			r := rand.New(rand.NewPCG(7, uint64(i)))
			for n := 0; (n < 2 || time.Now().Before(end)) && !t.Failed(); n++ {
				if n%2 == 0 {
					if err := goodRound(c, want); err != nil {
						t.Error(err)
						return
					}
					good.Add(1)
					continue
				}
				a := &attacks[(n/2+i)%len(attacks)]
				status, err := attackOnce(r, c, a, src.Text)
				if errors.Is(err, context.Canceled) {
					refused.Add(1) // cut off by the client, on purpose
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", a.name, err)
					return
				}
				hostile.Add(1)
				mu.Lock()
				if statuses[a.name] == nil {
					statuses[a.name] = map[int]int{}
				}
				statuses[a.name][status]++
				mu.Unlock()
				if status == http.StatusInternalServerError {
					t.Errorf("%s: status %d", a.name, status)
				}
			}
		}()
	}
	// Connections that say half a request and wait.
	slow := make([]net.Conn, 16)
	for i := range slow {
		if slow[i], err = net.Dial("tcp", l.Addr().String()); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(slow[i], "POST /api/compile HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+
			"application/json\r\nContent-Length: 1000\r\n\r\n{")
	}
	clients.Wait()
	for _, x := range slow {
		x.Close()
	}
	if err := goodRound(c, want); err != nil {
		t.Error("after the load: ", err)
	}
	close(stop)
	wait.Wait()
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("%v: %d good rounds of %d requests, %d hostile requests answered, %d given up; peak heap %d MiB", *loadTime,
		good.Load(), len(want)+1, hostile.Load(), refused.Load(), peak.Load()>>20)
	for name, m := range statuses {
		t.Logf("%s: %v", name, m)
	}
	if log.Len() > 0 {
		t.Errorf("faults:\n%s", log.Bytes())
	}
	if good.Load() == 0 || hostile.Load() == 0 {
		t.Error("too few requests to tell")
	}
	// What stops a compilation is looked at now and then, so the peak may pass the
	// limit by what one step of it takes.
	if most := loadLimits.Heap + loadLimits.Heap/2; peak.Load() > most {
		t.Errorf("the heap rose to %d bytes, the limit is %d", peak.Load(), loadLimits.Heap)
	}
	t.Logf("waiting until at most %d goroutines are left", goroutines+4)
	for runtime.NumGoroutine() > goroutines+4 {
		time.Sleep(10 * time.Millisecond)
	}
}

// goodPaths are asked of the view of digits, in every good round.
var goodPaths = []string{"tasks?", "task?task=3", "links?kind=statement&id=14", "bytes?section=constants&offset=64",
	"chain", "container", "statements?", "ir?"}

// goodAnswers returns what a quiet server answers.
func goodAnswers(t *testing.T, c *client) map[string]string {
	t.Helper()
	s := c.compile(Config{Model: "digits"})
	out := map[string]string{}
	for _, p := range goodPaths {
		status, b := c.ask("/api/view/"+s.Key+"/"+p, nil)
		if status != http.StatusOK {
			t.Fatalf("%s: status %d: %s", p, status, b)
		}
		out[p] = string(b)
	}
	return out
}

// goodRound asks what a page asks. A view may have been let go between two
// requests; then it is compiled again, as the page does.
func goodRound(c *client, want map[string]string) error {
	const tries = 20
	for range tries {
		status, b, err := c.try("/api/compile", Config{Model: "digits"})
		if err == nil && status == http.StatusUnprocessableEntity && bytes.Contains(b, []byte("it took longer than")) {
			continue // on a busy machine a good request may meet the limit as well
		}
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("compile: %v, status %d: %.200s", err, status, b)
		}
		var s summary
		if err := json.Unmarshal(b, &s); err != nil || !s.OK {
			return fmt.Errorf("compile: %v: %.200s", err, b)
		}
		gone := false
		for _, p := range goodPaths {
			status, b, err := c.try("/api/view/"+s.Key+"/"+p, nil)
			if err != nil {
				return err
			}
			if gone = status == http.StatusNotFound; gone {
				break
			}
			if status != http.StatusOK || string(b) != want[p] {
				return fmt.Errorf("%s: status %d, not the answer of before: %.200s", p, status, b)
			}
		}
		if !gone {
			return nil
		}
	}
	return fmt.Errorf("the view was let go %d times in a row", tries)
}

// attackOnce makes one hostile request; now and then it goes away early.
func attackOnce(r *rand.Rand, c *client, a *attack, text string) (int, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if r.IntN(8) == 0 {
		time.AfterFunc(time.Duration(r.IntN(20))*time.Millisecond, cancel)
	}
	q, err := http.NewRequestWithContext(ctx, "POST", c.url+a.path, strings.NewReader(a.body(r, text)))
	if err != nil {
		return 0, err
	}
	q.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || a.path != "/api/compile" {
		return resp.StatusCode, err
	}
	// What compiles is run as well.
	var made summary
	if err := json.Unmarshal(b, &made); err != nil {
		return 0, fmt.Errorf("%s: %w", a.name, err)
	}
	if !made.OK {
		return resp.StatusCode, nil
	}
	status, _, err := c.try("/api/view/"+made.Key+"/run", `{"seed":1}`)
	return status, err
}
