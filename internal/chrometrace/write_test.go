package chrometrace

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestWriterWritesOneObjectWithAllEvents(t *testing.T) {
	var b strings.Builder
	w := New(&b, map[string]string{"unit": "us"})
	w.Process(3, "model")
	w.Thread(3, 1, "engine")
	w.Event(Event{Name: `a "quoted" name`, Phase: Complete, TS: 1.5, Dur: 2, PID: 3, TID: 1})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var file struct {
		Other  map[string]string `json:"otherData"`
		Events []Event           `json:"traceEvents"`
	}
	if err := json.Unmarshal([]byte(b.String()), &file); err != nil {
		t.Fatal(err)
	}
	last := file.Events[len(file.Events)-1]
	if len(file.Events) != 4 || file.Other["unit"] != "us" || last.Dur != 2 || last.Name != `a "quoted" name` {
		t.Errorf("%+v", file)
	}
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestCloseReturnsTheFirstError(t *testing.T) {
	if err := New(full{}, nil).Close(); !errors.Is(err, errFull) {
		t.Errorf("a writer that fails: %v", err)
	}
	var b strings.Builder
	if err := New(&b, func() {}).Close(); err == nil {
		t.Error("a function is JSON")
	}
}
