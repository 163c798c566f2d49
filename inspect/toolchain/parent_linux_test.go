package toolchain_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/inspect/toolchain"
	"github.com/zinc-compiler/zinc/inspect/toolchain/toolchaintest"
)

// killedPath names the executable that TestKilled's other process compiles with.
const killedPath = "ZINC_TEST_KILLED"

// TestKilled: an executable ends with the process that runs it, however that ends.
func TestKilled(t *testing.T) {
	if path := os.Getenv(killedPath); path != "" {
		x, err := toolchain.Open(context.Background(), path)
		if err == nil {
			_, err = x.Compile(context.Background(), toolchain.Request{Model: digits, Dir: filepath.Dir(path)})
		}
		t.Fatal(err)
	}
	pidFile := filepath.Join(t.TempDir(), "pid")
	script := toolchaintest.Script(t, sayVersion, sayHelp,
		fmt.Sprintf("echo $$ >'%s.new'; mv '%[1]s.new' '%[1]s'; exec sleep 60", pidFile))
	runner := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	runner.Env = append(os.Environ(), killedPath+"="+script)
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	within(t, "the executable to run", func() bool {
		text, err := os.ReadFile(pidFile)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	if !runs(pid) {
		t.Fatalf("process %d does not run", pid)
	}
	if err := runner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	runner.Wait()
	within(t, "the executable to end", func() bool { return !runs(pid) })
}

// within waits for what comes true.
func within(t *testing.T, what string, is func() bool) {
	t.Helper()
	t.Logf("waiting for %s", what)
	for !is() {
		time.Sleep(10 * time.Millisecond)
	}
}

// runs reports whether a process is there and did not end.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(rest, []byte("Z"))
}
