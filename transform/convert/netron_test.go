package convert

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// netronEnv names a checkout of Netron, https://github.com/lutzroeder/netron.
const netronEnv = "NETRON"

// TestNetronOpensPackages checks that the parser of Netron opens the packages of texts and of packages that coremltools
// wrote: all whose weights exist.
func TestNetronOpensPackages(t *testing.T) {
	netron := os.Getenv(netronEnv)
	if netron == "" {
		t.Skipf("no Netron (%s names a checkout of it)", netronEnv)
	}
	shared := shareddir.Find(t)
	dir := t.TempDir()
	args := []string{filepath.Join("testdata", "netron.mjs"), netron}
	without := 0
	for _, pattern := range []string{"converted/*.mlpackage", "corpus/*/model.mil", "conformance/cases/*/model.mil"} {
		found, _ := filepath.Glob(filepath.Join(shared, pattern))
		for _, name := range found {
			to := filepath.Join(dir, strconv.Itoa(len(args))+".mlpackage")
			if err := convertTo(t, name, to, Options{}); err != nil {
				t.Logf("%s: %v", name, err)
				without++
				continue
			}
			args = append(args, to)
		}
	}
	out, err := exec.CommandContext(t.Context(), "node", args...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%d packages opened, %d models have no weights", strings.Count(string(out), "Core ML Package"), without)
}
