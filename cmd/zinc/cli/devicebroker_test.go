package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
)

// TestBrokerCompilesOnlyWhatItIsSent passes requests to the compiler of a served broker: names and options that reach
// beyond the request are refused, and no file stays behind.
func TestBrokerCompilesOnlyWhatItIsSent(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	model, err := os.ReadFile("../../../runtime/sim/stack/e5rt/testdata/two.mil")
	if err != nil {
		t.Fatal(err)
	}
	compile := (&env{}).brokerCompiler()
	for _, c := range []struct {
		name, option, value, want string
		data                      []byte
	}{
		{name: "two.mil", data: model},
		{name: "two.mil", data: model, option: "place", value: "engine"},
		{name: "../two.mil", data: model, want: "not inside the model's folder"},
		{name: "/two.mil", data: model, want: "not inside the model's folder"},
		{name: "two.mil", data: []byte("program("), want: "error"},
		{name: "two.mil", data: model, option: "weights", value: "/", want: `unknown option "weights"`},
		{name: "two.mil", data: model, option: "place", value: "moon", want: "place"},
	} {
		r := broker.CompileRequest{Files: broker.Files{{Name: c.name, Data: c.data}}}
		if c.option != "" {
			r.Options = broker.CompilerOptions{c.option: c.value}
		}
		container, descriptor, err := compile(t.Context(), r)
		switch {
		case c.want == "" && (err != nil || len(container) == 0 || len(descriptor) == 0):
			t.Errorf("%s, %s=%s: %v", c.name, c.option, c.value, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s, %s=%s: %v, want %q", c.name, c.option, c.value, err, c.want)
		}
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
