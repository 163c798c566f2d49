package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/internal/jsonform"
)

// convention is a command as the tests of conventions call it.
type convention struct {
	words string
	// args are what it needs to succeed; DIGITS, PAIR, NPY, OTHER, LOAD, COREML and TEMP are replaced by paths. It is
	// nil for commands that do not end by themselves or need another process.
	args []string
	// stdin is args with the standard input as an operand, nil for commands that read no model, container or array.
	stdin []string
	// foreign is set if --json prints the format of another program.
	foreign bool
}

// conventions has every command that a user can run but those that write text for a shell or a reader.
var conventions = []convention{
	{words: "", args: []string{"DIGITS", "-o", "TEMP/a.hwx"}, stdin: []string{"-", "-o", "-"}},
	{words: "run", args: []string{"PAIR", "--random"}, stdin: []string{"-", "--random"}},
	{words: "verify", args: []string{"DIGITS"}, stdin: []string{"-"}},
	{words: "prove", args: []string{"PAIR", "DIGITS"}, stdin: []string{"PAIR", "-"}},
	{words: "reduce", args: []string{"DIGITS", "--predicate", "compile-error=x"}, stdin: []string{"-", "--predicate",
		"compile-error=x", "-o", "TEMP/small.mil"}},
	{words: "check", args: []string{"DIGITS"}, stdin: []string{"-"}},
	{words: "explain", args: []string{"DIGITS:21"}, stdin: []string{"-:1"}},
	{words: "lint", args: []string{"DIGITS", "--work", "0"}, stdin: []string{"-"}},
	{words: "watch"},
	{words: "patch", args: []string{"PAIR", "--weights", "conv1_bias=NPY", "-o", "TEMP/patched.hwx"},
		stdin: []string{"PAIR", "--weights", "conv1_bias=-", "-o", "TEMP/p.hwx"}},
	{words: "convert", args: []string{"DIGITS", "TEMP/d.mlpackage"}, stdin: []string{"-", "TEMP/p.mlpackage"}},
	{words: "compress", args: []string{"DIGITS", "--form", "palette4", "-o", "TEMP/c.mlpackage"},
		stdin: []string{"-", "--form", "palette4", "-o", "TEMP/i.mlpackage"}},
	{words: "split", args: []string{"DIGITS", "--parts", "2", "-o", "TEMP/parts"},
		stdin: []string{"-", "--parts", "2", "-o", "TEMP/p"}},
	{words: "generate", args: []string{"digits", "DIGITS", "-o", "TEMP/digits"},
		stdin: []string{"digits", "-", "-o", "TEMP/g"}},
	{words: "stack", args: []string{"DIGITS", "--random"}, stdin: []string{"-", "--random"}, foreign: true},
	{words: "device", args: []string{"--section", "build"}, stdin: []string{"-"}},
	{words: "device send", args: []string{"PING"}},
	{words: "device selector", args: []string{}},
	{words: "device method", args: []string{}},
	{words: "device broker", args: []string{}},
	{words: "serve"},
	{words: "top"},
	{words: "load", args: []string{"LOAD"}, stdin: []string{"-"}},
	{words: "explore"},
	{words: "dump", args: []string{"PAIR"}, stdin: []string{"-"}},
	{words: "diff", args: []string{"DIGITS", "OTHER", "--weights", "DIGITS"}, stdin: []string{"-", "DIGITS"}},
	{words: "cache ls", args: []string{"--cache", "TEMP"}},
	{words: "cache verify", args: []string{"--cache", "TEMP"}},
	{words: "cache gc", args: []string{"--cache", "TEMP"}},
	{words: "ops", args: []string{}},
	{words: "targets", args: []string{}},
	{words: "coreml rates", args: []string{"COREML", "--model", "DIGITS"}, stdin: []string{"-", "--model", "DIGITS"}},
	{words: "man", args: []string{"TEMP/man"}},
	{words: "version", args: []string{}},
}

// writesText lists the commands whose output is a script for a shell, help, a list of subcommands, or messages.
func writesText(c *cobra.Command, words []string) bool {
	lists := words != nil && slices.Contains([]string{"cache", "coreml"}, words[0])
	return !c.Runnable() || lists && len(words) == 1 ||
		words != nil && slices.Contains([]string{"completion", "help", "session"}, words[0])
}

func TestConventionsCoverEveryCommand(t *testing.T) {
	everyCommand(func(c *cobra.Command, words []string) {
		if writesText(c, words) {
			return
		}
		if !slices.ContainsFunc(conventions, func(x convention) bool { return x.words == strings.Join(words, " ") }) {
			t.Errorf("zinc %s is not in the list of conventions", strings.Join(words, " "))
		}
		if c.Flag("json") == nil {
			t.Errorf("zinc %s has no --json", strings.Join(words, " "))
		}
	})
}

// conventionFiles returns the paths of files in a fresh folder, by the words of arguments that they replace.
func conventionFiles(t *testing.T) *strings.Replacer {
	t.Helper()
	dir := t.TempDir()
	model := filepath.Join(digits(t), "digits.mlmodelc")
	container := filepath.Join(dir, "d.hwx")
	if status, _, msg := call(t, model, "-o", container, "--debug-db", filepath.Join(dir, "d.zdb")); status != 0 {
		t.Fatalf("status %d: %s", status, msg)
	}
	text, err := os.ReadFile(filepath.Join(model, "model.mil"))
	if err != nil {
		t.Fatal(err)
	}
	header := fmt.Sprintf("%-117s\n", "{'descr': '<f2', 'fortran_order': False, 'shape': (8,)}")
	bias := []byte("\x93NUMPY\x01\x00\x76\x00" + header)
	files := map[string][]byte{
		"other.mil": bytes.Replace(text, []byte("relu("), []byte("tanh("), 1),
		"bias.npy":  append(bias, make([]byte, 16)...),
		"load.json": []byte(`{"classes": [{"name": "a", "model": "d.hwx", "clients": 1, "requests": 2}]}`),
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return strings.NewReplacer("DIGITS", model, "PAIR", container, "OTHER", filepath.Join(dir, "other.mil"),
		"NPY", filepath.Join(dir, "bias.npy"), "LOAD", filepath.Join(dir, "load.json"), "TEMP", dir,
		"COREML", filepath.Join(digits(t), "..", "coreml", "digits.json"))
}

// command returns the words of a call.
func (x *convention) command(paths *strings.Replacer, args []string) []string {
	out := strings.Fields(x.words)
	for _, a := range args {
		out = append(out, paths.Replace(a))
	}
	return out
}

// TestOutputInPipes calls each command: its status is 0, a pipe gets no colors, and --json prints one document with the
// version of its schema.
func TestOutputInPipes(t *testing.T) {
	paths := conventionFiles(t)
	for i := range conventions {
		x := &conventions[i]
		if x.args == nil {
			continue
		}
		args := x.command(paths, x.args)
		want := []int{statusOK}
		switch x.words {
		case "diff": // the models differ
			want = []int{statusInput}
		case "reduce": // the predicate does not hold
			want = []int{statusInput}
		}
		status, out, msg := call(t, args...)
		if !slices.Contains(want, status) {
			t.Errorf("zinc %s: status %d, want %v\n%s", strings.Join(args, " "), status, want, msg)
		}
		if strings.Contains(out+msg, "\x1b") {
			t.Errorf("zinc %s: escape sequences in a pipe", strings.Join(args, " "))
		}
		if _, out, msg = call(t, append(args, "--json")...); !json.Valid([]byte(out)) && out != "" {
			t.Errorf("zinc %s --json: not a document\n%s", strings.Join(args, " "), out)
		}
		if x.words == "reduce" {
			continue // nothing was reduced
		}
		var d struct{ Schema int }
		if err := json.Unmarshal([]byte(out), &d); !x.foreign && (err != nil || d.Schema != jsonform.Schema) {
			t.Errorf("zinc %s --json: schema %d, %v\n%s", strings.Join(args, " "), d.Schema, err, msg)
		}
	}
}

// TestStandardInputIsAnOperand gives each command that reads a file an unusable one as standard input: the error is of
// the input, and says so.
func TestStandardInputIsAnOperand(t *testing.T) {
	paths := conventionFiles(t)
	for i := range conventions {
		x := &conventions[i]
		if x.stdin == nil {
			continue
		}
		args := x.command(paths, x.stdin)
		var out, msg bytes.Buffer
		status := run(context.Background(), args, strings.NewReader("neither a model nor a container"), &out, &msg)
		named := slices.ContainsFunc([]string{"stdin", "standard input", "-:", "conv1_bias"}, func(s string) bool {
			return strings.Contains(msg.String(), s)
		})
		if want := x.words == "diff"; status != statusInput && !(want && status == statusUsage) || !named {
			t.Errorf("zinc %s: status %d, %s", strings.Join(args, " "), status, &msg)
		}
	}
}

// TestEveryCommandRefusesWrongFlags holds the status of a wrong command line, and the errors of --json.
func TestEveryCommandRefusesWrongFlags(t *testing.T) {
	everyCommand(func(c *cobra.Command, words []string) {
		status, out, msg := call(t, append(words[:len(words):len(words)], "--no-such-flag")...)
		if c.DisableFlagParsing || words != nil && words[0] == "help" {
			return
		}
		if status != statusUsage || out != "" || !strings.Contains(msg, "no-such-flag") {
			t.Errorf("zinc %v: status %d, %q, %q", words, status, out, msg)
		}
	})
	var d struct{ Schema, Errors int }
	_, out, msg := call(t, "check", "no-such-model", "--json")
	if err := json.Unmarshal([]byte(msg), &d); out != "" || err != nil || d.Schema != jsonform.Schema || d.Errors != 1 {
		t.Errorf("an error with --json: %q, %q, %v", out, msg, err)
	}
}
