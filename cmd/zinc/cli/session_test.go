package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/npy"
)

// client talks to a session in this process.
type client struct {
	t    *testing.T
	to   io.WriteCloser
	from *bufio.Reader
	done chan int
	last int64
}

// reply is all that the client received about a request.
type reply struct {
	sessionMessage
	stdout, stderr string
	progress       []sessionMessage
	body           []byte
}

func newClient(t *testing.T) *client {
	t.Helper()
	in, to := io.Pipe()
	from, out := io.Pipe()
	c := &client{t: t, to: to, from: bufio.NewReader(from), done: make(chan int, 1)}
	go func() {
		status := run(context.Background(), []string{"session"}, in, out, io.Discard)
		out.Close()
		c.done <- status
	}()
	t.Cleanup(func() {
		to.Close()
		go io.Copy(io.Discard, from)
		<-c.done
	})
	return c
}

// send sends a request and returns its number.
func (c *client) send(r sessionRequest, body ...[]byte) int64 {
	c.t.Helper()
	c.last++
	r.ID = c.last
	all := slices.Concat(body...)
	r.Bytes = int64(len(all))
	line, err := json.Marshal(r)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.to.Write(slices.Concat(line, []byte("\n"), all)); err != nil {
		c.t.Fatal(err)
	}
	return r.ID
}

// receive reads one message.
func (c *client) receive() (m sessionMessage, body []byte) {
	c.t.Helper()
	line, err := c.from.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &m)
	}
	if err != nil {
		c.t.Fatalf("%q: %v", line, err)
	}
	body = make([]byte, m.Bytes)
	if _, err := io.ReadFull(c.from, body); err != nil {
		c.t.Fatal(err)
	}
	return m, body
}

// reply reads to the end of a request; other requests must have ended before.
func (c *client) reply(id int64) (r reply) {
	c.t.Helper()
	for {
		m, body := c.receive()
		if m.ID != id {
			c.t.Fatalf("a message about request %d, want %d", m.ID, id)
		}
		switch m.Event {
		case eventStdout:
			r.stdout += string(body)
		case eventStderr:
			r.stderr += string(body)
		case eventProgress:
			r.progress = append(r.progress, m)
		case eventEnd:
			r.sessionMessage, r.body = m, body
			return r
		default:
			c.t.Fatalf("unknown event %q", m.Event)
		}
	}
}

// ask sends a request and returns what comes back, which must end with a status.
func (c *client) ask(status int, r sessionRequest, body ...[]byte) reply {
	c.t.Helper()
	got := c.reply(c.send(r, body...))
	if *got.Status != status {
		c.t.Fatalf("%+v ends with status %d, want %d: %s", r, *got.Status, status, got.stderr)
	}
	return got
}

// smallModel returns the path of a model of the tests of the simulated runtime.
func smallModel(name string) string {
	return filepath.Join("..", "..", "..", "runtime", "sim", "stack", "e5rt", "testdata", name)
}

// untimed returns what a command prints without the times that a compilation took.
func untimed(s string) string { return regexp.MustCompile(`"seconds": .*`).ReplaceAllString(s, "") }

// TestSessionPrintsWhatCommandsPrint compares what a session sends with what commands print, byte for byte.
func TestSessionPrintsWhatCommandsPrint(t *testing.T) {
	model := filepath.Join(digits(t), "digits.mlmodelc")
	c := newClient(t)
	for _, args := range [][]string{
		{"check", model, "--json"},
		{"check", model},
		{"check", model, "--report", "html=-"},
		{"verify", model, "--json"},
		{"diff", model, "--target-b", "h14", "--json"},
		{"explain", model + ":21", "--json"},
		{"ops", "--json"},
		{"check", "no such model", "--json"},
		{"check", model, "--max-tasks", "1", "--json"},
		{"check"},
		{"chek"},
		{},
	} {
		status, stdout, stderr := call(t, args...)
		got := c.ask(status, sessionRequest{Method: "run", Args: args})
		if untimed(got.stdout) != untimed(stdout) || got.stderr != stderr {
			t.Errorf("zinc %v in a session prints %.1000q and %q, want %.1000q and %q", args, got.stdout, got.stderr,
				stdout, stderr)
		}
	}
	text, err := os.ReadFile(smallModel("tiny.mil"))
	if err != nil {
		t.Fatal(err)
	}
	got := c.ask(0, sessionRequest{Method: "run", Args: []string{"check", "-"}}, text)
	if !strings.HasPrefix(got.stdout, "stdin, function main") {
		t.Errorf("a body as standard input: %q", got.stdout)
	}
}

// TestSessionCompilesThePairOfTheCommand compares the files that both write.
func TestSessionCompilesThePairOfTheCommand(t *testing.T) {
	_, container, descriptor := pairFiles(t)
	to := filepath.Join(t.TempDir(), "d.hwx")
	model := filepath.Join(digits(t), "digits.mlmodelc")
	newClient(t).ask(0, sessionRequest{Method: "run", Args: []string{model, "-o", to}})
	for path, want := range map[string][]byte{to: container, strings.TrimSuffix(to, "hwx") + "e5": descriptor} {
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs: %v", filepath.Base(path), err)
		}
	}
}

// TestSessionPredicts runs a model twice on each engine, and compares with what zinc run writes.
func TestSessionPredicts(t *testing.T) {
	image := filepath.Join(digits(t), "testdata", "7.npy")
	file, err := os.ReadFile(image)
	if err != nil {
		t.Fatal(err)
	}
	a, err := npy.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	container, _, _ := pairFiles(t)
	c := newClient(t)
	model := filepath.Join(digits(t), "digits.mlmodelc")
	for _, args := range [][]string{{container}, {model}, {container, "--engine=direct"}, {model, "--engine=interp"}} {
		to := filepath.Join(t.TempDir(), "out.npy")
		if status, _, msg := call(t, append([]string{"run", "--input", "image=" + image, "--output", "probs=" + to},
			args...)...); status != 0 {
			t.Fatal(msg)
		}
		want, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		l := c.ask(0, sessionRequest{Method: "load", Args: args})
		if in := l.Function.Inputs; len(in) != 1 || in[0].Name != "image" || in[0].Type != a.Type ||
			!slices.Equal(in[0].Shape, a.Shape) || !strings.HasPrefix(in[0].MIL, "tensor<") {
			t.Errorf("the inputs are %+v", in)
		}
		for range 2 {
			got := c.ask(0, sessionRequest{Method: "predict", Model: l.ID,
				Inputs: []sessionArray{{"image", a.Type, a.Shape}}}, a.Data)
			o := got.Outputs
			if len(o) != 1 || o[0].Name != "probs" {
				t.Fatalf("outputs %+v", o)
			}
			if have, err := npy.Encode(npy.Array{Type: o[0].Type, Shape: o[0].Shape, Data: got.body}); err != nil ||
				!bytes.Equal(have, want) {
				t.Errorf("%v: the outputs differ from those of zinc run: %v", args, err)
			}
		}
		c.ask(0, sessionRequest{Method: "unload", Model: l.ID})
		if got := c.ask(statusUsage, sessionRequest{Method: "predict", Model: l.ID}); !strings.Contains(got.stderr,
			"no model") {
			t.Errorf("a released model: %s", got.stderr)
		}
	}
}

// TestSessionKeepsStates runs a counter from states that the client keeps.
func TestSessionKeepsStates(t *testing.T) {
	c := newClient(t)
	l := c.ask(0, sessionRequest{Method: "load", Args: []string{smallModel("state.mil")}})
	f := l.Function
	if len(f.States) != 1 || len(f.Inputs) != 0 {
		t.Fatalf("the ports are %+v", f)
	}
	r := sessionRequest{Method: "predict", Model: l.ID, States: []sessionArray{f.States[0].sessionArray}}
	zero := make([]byte, 8)
	first := c.ask(0, r, zero)
	after := first.body[len(first.body)-len(zero):]
	if len(first.States) != 1 || bytes.Equal(after, zero) {
		t.Fatalf("the states are %+v, % x", first.States, after)
	}
	second := c.ask(0, r, after)
	if bytes.Equal(second.body, first.body) {
		t.Error("the state changes nothing")
	}
	if again := c.ask(0, r, zero); !bytes.Equal(again.body, first.body) {
		t.Error("from the same state there are other values")
	}
}

// TestSessionCancels cancels a run that would take days, whose progress it receives; another request is answered
// meanwhile.
func TestSessionCancels(t *testing.T) {
	c := newClient(t)
	model := filepath.Join(digits(t), "digits.mlmodelc")
	long := c.send(sessionRequest{Method: "run", Progress: true, Args: []string{"run", model, "--random", "--steps",
		"1000000000"}})
	for {
		m, _ := c.receive()
		if m.ID == long && m.Event == eventProgress && m.Stage == "run" && m.Done > 0 && m.Total > m.Done {
			break
		}
	}
	version := c.send(sessionRequest{Method: "run", Args: []string{"version"}})
	cancel := int64(0)
	ends := map[int64]int{}
	for len(ends) < 3 {
		m, _ := c.receive()
		if m.Event != eventEnd {
			continue
		}
		ends[m.ID] = *m.Status
		if m.ID == version {
			cancel = c.send(sessionRequest{Method: "cancel", Request: long})
		}
	}
	if ends[long] != statusInterrupted || ends[version] != 0 || ends[cancel] != 0 {
		t.Errorf("the requests end with %v", ends)
	}
	c.ask(0, sessionRequest{Method: "cancel", Request: long}) // one that has ended
}

// TestSessionRefusesWrongRequests sends requests that are wrong; the session goes on.
func TestSessionRefusesWrongRequests(t *testing.T) {
	c := newClient(t)
	l := c.ask(0, sessionRequest{Method: "load", Args: []string{filepath.Join(digits(t), "digits.mlmodelc")}})
	image := sessionArray{"image", "f2", []int64{1, 1, 28, 28}}
	pixels := make([]byte, 2*28*28)
	model := filepath.Join(digits(t), "digits.mlmodelc")
	run := func(args ...string) sessionRequest { return sessionRequest{Method: "run", Args: args} }
	load := func(args ...string) sessionRequest { return sessionRequest{Method: "load", Args: args} }
	predict := func(inputs ...sessionArray) sessionRequest {
		return sessionRequest{Method: "predict", Model: l.ID, Inputs: inputs}
	}
	shaped := func(typ string, shape ...int64) sessionRequest {
		return predict(sessionArray{"image", typ, shape})
	}
	stateful := predict(image)
	stateful.States = []sessionArray{{"s", "f2", nil}}
	for name, r := range map[string]struct {
		sessionRequest
		want string
	}{
		"a command without end": {run("watch", "m.mil"), "until it is interrupted"},
		"a session":             {run("session"), "until it is interrupted"},
		"a limit of all":        {run("ops", "--max-memory=1"), "whole process"},
		"no model":              {load("--help"), "name no model"},
		"arrays of a load":      {load(model, "--random"), "takes no arrays"},
		"another model":         {sessionRequest{Method: "predict", Model: 99}, "no model 99"},
		"to release":            {sessionRequest{Method: "unload", Model: -1}, "no model -1"},
		"no input":              {predict(), "missing input: image"},
		"another input":         {predict(sessionArray{Name: "x"}), "unknown input"},
		"the input twice":       {predict(image, image), "set twice"},
		"no type":               {shaped(""), "element type"},
		"many dimensions":       {shaped("f8", math.MaxInt64, math.MaxInt64), "not a valid array shape"},
		"few bytes":             {shaped("f2", 1<<40), "the body has 1568 left"},
		"another shape":         {shaped("f2", 784), "shape"},
		"fewer pixels":          {shaped("f2", 1, 1, 28, 27), "shape"},
		"a state":               {stateful, "unknown state"},
	} {
		if got := c.ask(statusUsage, r.sessionRequest, pixels); !strings.Contains(got.stderr, r.want) {
			t.Errorf("%s: %s, want %q", name, got.stderr, r.want)
		}
	}
	if got := c.ask(statusUsage, predict(image), pixels, []byte{0}); !strings.Contains(got.stderr, "1 bytes more") {
		t.Error(got.stderr)
	}
	for line, want := range map[string]string{
		`{"id":50,"method":"rum"}`:                               `unknown method`,
		`{"id":0,"method":"run"}`:                                `from 1 on`,
		`{"id":51,"method":"run","argv":[]}`:                     `unknown field`,
		fmt.Sprintf(`{"id":%d,"method":"load","args":[]}`, l.ID): `a model of this number is loaded`,
	} {
		if _, err := io.WriteString(c.to, line+"\n"); err != nil {
			t.Fatal(err)
		}
		var r sessionRequest
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if got := c.reply(r.ID); *got.Status != statusUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: status %d, %s", line, *got.Status, got.stderr)
		}
	}
	got := c.ask(0, predict(image), pixels)
	if len(got.body) != 20 {
		t.Errorf("the model returns %d bytes", len(got.body))
	}
}

// TestSessionEndsWhereTheNextRequestIsUnknown sends what is not a request.
func TestSessionEndsWhereTheNextRequestIsUnknown(t *testing.T) {
	for input, want := range map[string]string{
		"\n":                         "want a request",
		"{}":                         "inside the line",
		"[]\n":                       "want a request",
		`{"id":1,"bytes":-1}` + "\n": "want 0 or more",
		`{"id":1,"bytes":9000000000000000}` + "\n": "input ends after 0 of",
		`{"id":1,"bytes":3}` + "\nab":              "input ends after 2 of 3 bytes",
		strings.Repeat("x", maxHeader+1):           "longer than",
		strings.Repeat("[", maxHeader-1) + "\n":    "want a request",
	} {
		var out bytes.Buffer
		status := run(context.Background(), []string{"session"}, strings.NewReader(input), &out, io.Discard)
		if status != statusUsage || !strings.Contains(out.String(), want) {
			t.Errorf("%.40q: status %d, %.300s", input, status, &out)
		}
	}
}

// TestSessionFinishesAtTheEndOfInput gets the answers to requests before the end.
func TestSessionFinishesAtTheEndOfInput(t *testing.T) {
	var out bytes.Buffer
	in := `{"id":7,"method":"run","args":["version"]}` + "\n"
	if status := run(context.Background(), []string{"session"}, strings.NewReader(in), &out, io.Discard); status != 0 ||
		!strings.Contains(out.String(), `{"id":7,"event":"end","status":0}`) {
		t.Errorf("status %d, %s", status, &out)
	}
}

// TestSessionLimitsRequestsUnderWay begins requests that do not end.
func TestSessionLimitsRequestsUnderWay(t *testing.T) {
	s := &session{tasks: map[int64]*task{}}
	begin := func(id int64, method string) error {
		return s.begin(&task{sessionRequest: &sessionRequest{ID: id, Method: method}, session: s})
	}
	for id := range int64(maxUnderWay) {
		if err := begin(id+1, "run"); err != nil {
			t.Fatal(err)
		}
	}
	if begin(maxUnderWay+1, "run") == nil || begin(1, methodCancel) == nil ||
		begin(maxUnderWay+2, methodCancel) != nil {
		t.Error("the limit does not hold, or holds for cancel")
	}
}

// FuzzSessionRequests reads requests to the end of arbitrary input.
func FuzzSessionRequests(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"predict","bytes":4,"inputs":[{"name":"x","type":"f4","shape":[]}]}` +
		"\n\x00\x00\x80\x3f"))
	f.Add(binary.LittleEndian.AppendUint64([]byte(`{"bytes":8}`+"\n"), math.MaxUint64))
	f.Fuzz(func(t *testing.T, input []byte) {
		s := &session{requests: bufio.NewReaderSize(bytes.NewReader(input), maxHeader)}
		for {
			r, wrong, err := s.read()
			if err != nil {
				return
			}
			if wrong == nil && int64(len(r.payload)) != r.Bytes {
				t.Fatalf("a body of %d bytes, want %d", len(r.payload), r.Bytes)
			}
			for _, a := range slices.Concat(r.Inputs, r.States) {
				if n, err := a.bytes(); err == nil && n < 0 {
					t.Fatalf("%+v has %d bytes", a, n)
				}
			}
		}
	})
}
