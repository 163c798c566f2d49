package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/internal/memlimit"
)

const (
	// maxHeader is the length limit of the line of JSON that a request begins with.
	maxHeader = 1 << 20
	// maxUnderWay limits the requests that are under way at once.
	maxUnderWay = 64
)

// sessionRequest is the line of JSON that a request begins with. Bytes of the body follow the line.
type sessionRequest struct {
	ID     int64  `json:"id"`     // number of the request, from 1 on, in every message about it
	Method string `json:"method"` // one of the methods
	Bytes  int64  `json:"bytes,omitempty"`
	// Args are the arguments of zinc (run) or of zinc run (load).
	Args     []string `json:"args,omitempty"`
	Progress bool     `json:"progress,omitempty"` // send events about progress
	Model    int64    `json:"model,omitempty"`    // number of the load that a call is for
	// Inputs and States are the arrays of a call, in the order in which the body has their elements.
	Inputs  []sessionArray `json:"inputs,omitempty"`
	States  []sessionArray `json:"states,omitempty"`
	Request int64          `json:"request,omitempty"` // that is to be cancelled

	payload []byte
}

// sessionArray describes an array whose elements are in a body: packed, little-endian, row-major.
type sessionArray struct {
	Name  string  `json:"name"`
	Type  string  `json:"type"` // element type in numpy's notation, without the byte order
	Shape []int64 `json:"shape"`
}

// sessionMessage is the line of JSON that a message to the client begins with.
type sessionMessage struct {
	ID    int64  `json:"id"`    // of the request, 0 for one that could not be read
	Event string `json:"event"` // stdout, stderr, progress, or end, which is the last one of a request
	Bytes int64  `json:"bytes,omitempty"`
	Stage string `json:"stage,omitempty"` // of the progress: what is under way
	Done  int    `json:"done,omitempty"`  // units of the stage that are done
	Total int    `json:"total,omitempty"` // units of the stage, 0 for unknown
	// Status is the exit status, of the end.
	Status *int `json:"status,omitempty"`
	// Function has the ports of a model that was loaded.
	Function *sessionFunction `json:"function,omitempty"`
	// Outputs and States describe the arrays in the body, in order.
	Outputs []sessionArray `json:"outputs,omitempty"`
	States  []sessionArray `json:"states,omitempty"`
}

// Events of a message.
const (
	eventStdout   = "stdout"
	eventStderr   = "stderr"
	eventProgress = "progress"
	eventEnd      = "end"
)

// session answers the requests of one client.
type session struct {
	*env
	requests *bufio.Reader

	stop  context.CancelFunc // ends all work
	write sync.Mutex         // of messages

	mu    sync.Mutex // guards the fields below
	tasks map[int64]*task
	held  map[int64]*heldModel // by the number of the load
	work  sync.WaitGroup
}

// task is a request under way.
type task struct {
	*sessionRequest
	*session
	cancel context.CancelFunc
	answer sessionMessage // of the end
	body   [][]byte       // of the answer
}

func newSession(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "session",
		Short: "Answer the requests of one program on standard input and output",
		Long: `Session runs commands and keeps models for one other program, in one process, until
its standard input ends. The Python package uses it. A message is a line of JSON, in
which "bytes" is the length of the body that follows the line. A request has a number
("id") and a method:

  run      run zinc with the arguments "args"; the body is standard input
  load     compile and load what zinc run would run with the arguments "args", and keep it
  predict  run the model of a load on the arrays in the body, from "states", if set
  unload   release the model of a load
  cancel   cancel the request with the number "request"

Every message to the client has the number of its request and an event: stdout and
stderr have what the command prints, byte for byte, progress has the units that are done,
and end, the last one, the exit status, and the arrays of a call. At most 64 requests are
under way at once, and what they print may interleave. A request that is wrong gets an
error of status 2; a line that is not a request ends the session, because the length of
its body is not known. docs/session.md has the fields of each method.`,
		Example: `  echo '{"id":1,"method":"run","args":["version","--json"]}' | zinc session`,
		GroupID: groupServe,
		Args:    operands(0, 0, "no operand"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := &session{env: e, requests: bufio.NewReaderSize(cmd.InOrStdin(), maxHeader), tasks: map[int64]*task{},
				held: map[int64]*heldModel{}}
			return s.serve(cmd.Context())
		},
	}
}

// serve answers requests until the input ends or ctx does.
func (s *session) serve(ctx context.Context) (err error) {
	ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	ended := make(chan error, 1)
	go func() { ended <- s.accept(ctx) }()
	select {
	case err = <-ended:
	case <-ctx.Done(): // interrupted: that is how it ends
	}
	if err != nil {
		s.stop()
	}
	s.work.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.held {
		err = errors.Join(err, m.close(context.Background()))
	}
	return err
}

// accept reads requests and starts their work.
func (s *session) accept(ctx context.Context) error {
	for ctx.Err() == nil {
		r, wrong, err := s.read()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			wrong := &task{session: s, sessionRequest: &sessionRequest{}}
			wrong.finish(wrong.fail(err))
			return &exitError{err: err, status: statusUsage, shown: true}
		}
		ctx, cancel := context.WithCancel(ctx)
		t := &task{sessionRequest: r, session: s, cancel: cancel}
		if wrong == nil {
			wrong = s.begin(t)
		}
		if wrong != nil {
			t.finish(t.fail(wrong))
			cancel()
			continue
		}
		s.work.Go(func() { s.perform(ctx, t) })
	}
	return nil
}

// read reads a request. wrong says what is wrong with one that was read to its end; after err no other can be read.
func (s *session) read() (r *sessionRequest, wrong, err error) {
	line, err := s.requests.ReadSlice('\n')
	switch {
	case err == bufio.ErrBufferFull:
		return nil, nil, usagef("the line of a request is longer than %d bytes", maxHeader)
	case err == io.EOF && len(line) > 0:
		return nil, nil, usagef("the input ends inside the line of a request")
	case err != nil:
		return nil, nil, err
	}
	r = &sessionRequest{}
	if err := json.Unmarshal(line, r); err != nil {
		return nil, nil, usagef("want a request, a line of JSON: %w", err)
	}
	if r.Bytes < 0 {
		return nil, nil, usagef("request %d: \"bytes\" is %d, want 0 or more", r.ID, r.Bytes)
	}
	known := json.NewDecoder(bytes.NewReader(line))
	known.DisallowUnknownFields()
	wrong = known.Decode(&sessionRequest{})
	if wrong == nil {
		wrong = memlimit.Room(r.Bytes)
	}
	body := bytes.NewBuffer(make([]byte, 0, min(r.Bytes, maxHeader)))
	to := io.Writer(body)
	if wrong != nil {
		wrong, to = usagef("request %d: %w", r.ID, wrong), io.Discard
	}
	if n, err := io.CopyN(to, s.requests, r.Bytes); err != nil {
		return nil, nil, usagef("request %d: the input ends after %d of %d bytes of the body", r.ID, n, r.Bytes)
	}
	r.payload = body.Bytes()
	return r, wrong, nil
}

// methods are the names of methods.
var methods = []string{"run", "load", "predict", "unload", methodCancel}

// methodCancel is the method that is accepted however many requests are under way.
const methodCancel = "cancel"

// call does what the method of a request says and returns its exit status.
func (t *task) call(ctx context.Context) int {
	switch t.Method {
	case "run":
		return t.run(ctx)
	case "load":
		return t.load(ctx)
	case "predict":
		return t.predict(ctx)
	case "unload":
		return t.unload(ctx)
	}
	return t.cancelOther()
}

// begin registers a request, or says what is wrong with it.
func (s *session) begin(t *task) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case t.ID < 1:
		return usagef("request %d: want a number from 1 on", t.ID)
	case s.tasks[t.ID] != nil:
		return usagef("request %d: a request of this number is under way", t.ID)
	case s.held[t.ID] != nil && t.holds():
		return usagef("request %d: a model of this number is loaded", t.ID)
	case !slices.Contains(methods, t.Method):
		return usagef("request %d: unknown method %q; the methods are %s", t.ID, t.Method,
			strings.Join(methods, ", "))
	case len(s.tasks) >= maxUnderWay && t.Method != methodCancel:
		return usagef("request %d: %d requests are under way, which is the limit; wait for an end", t.ID, len(s.tasks))
	}
	s.tasks[t.ID] = t
	return nil
}

// perform does the work of a request and ends it.
func (s *session) perform(ctx context.Context, t *task) {
	defer t.cancel()
	status := t.call(ctx)
	s.mu.Lock()
	delete(s.tasks, t.ID)
	s.mu.Unlock()
	t.finish(status)
}

// run runs a command.
func (t *task) run(ctx context.Context) int {
	e := t.environment(t.Args)
	defer e.unmap()
	return e.run(ctx, t.Args)
}

// environment returns the environment of a command that a request runs.
func (t *task) environment(args []string) *env {
	e := newEnv(args, bytes.NewReader(t.payload), stream{t, eventStdout}, stream{t, eventStderr})
	e.inSession = t
	return e
}

// cancelOther cancels another request. One that has ended is not an error: its end may be on its way.
func (t *task) cancelOther() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other := t.tasks[t.Request]; other != nil {
		other.cancel()
	}
	return statusOK
}

// fail sends an error that is not one of a command, as a document, and returns its status.
func (t *task) fail(err error) int {
	var b bytes.Buffer
	e := &env{err: &b, diagnostics: "json", command: "zinc session"}
	status := e.fail(err)
	t.send(sessionMessage{Event: eventStderr}, b.Bytes())
	return status
}

// finish sends the end of a request.
func (t *task) finish(status int) {
	t.answer.Event, t.answer.Status = eventEnd, &status
	t.send(t.answer, t.body...)
}

// follows reports whether events about progress are wanted.
func (t *task) follows() bool { return t != nil && t.Progress }

// progress sends the progress of a stage.
func (t *task) progress(stage string, done, total int) {
	t.send(sessionMessage{Event: eventProgress, Stage: stage, Done: done, Total: total})
}

// send sends a message about the request to the client. If that fails, nobody reads the answers, and all work ends.
func (t *task) send(m sessionMessage, body ...[]byte) error {
	m.ID = t.ID
	for _, b := range body {
		m.Bytes += int64(len(b))
	}
	var line bytes.Buffer
	to := json.NewEncoder(&line)
	to.SetEscapeHTML(false)
	if err := to.Encode(m); err != nil {
		return err
	}
	t.write.Lock()
	defer t.write.Unlock()
	for _, b := range slices.Concat([][]byte{line.Bytes()}, body) {
		if _, err := t.out.Write(b); err != nil {
			t.stop()
			return fmt.Errorf("writing an answer: %w", err)
		}
	}
	err := t.flush()
	if err != nil {
		t.stop()
	}
	return err
}

// stream sends what a command prints.
type stream struct {
	t     *task
	event string
}

// Write implements io.Writer.
func (s stream) Write(b []byte) (int, error) {
	if err := s.t.send(sessionMessage{Event: s.event}, b); err != nil {
		return 0, err
	}
	return len(b), nil
}
