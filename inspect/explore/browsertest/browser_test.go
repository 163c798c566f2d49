package browsertest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/cmd/zinc/cli"
	"github.com/zinc-compiler/zinc/inspect/explore"
	"github.com/zinc-compiler/zinc/inspect/toolchain"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/testform"
)

var (
	chromium = flag.String("chromium", "", "the browser; without it the test is skipped")
	modules  = flag.String("modules", "", "folder of node's modules, with playwright-core in it")
	pictures = flag.String("pictures", "", "folder for screenshots")
)

// beZinc has the test's own executable be a zinc, for the page to choose as another
// version.
const beZinc = "BROWSERTEST_BE_ZINC"

func TestMain(m *testing.M) {
	if os.Getenv(beZinc) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Setenv("ZINC_CACHE", "off") // a test must not use the user's cache
	os.Exit(m.Run())
}

// other is a version that writes tasks in the full form, whatever it is asked.
func other(t *testing.T) explore.Version {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "zinc")
	script := fmt.Sprintf("#!/bin/sh\nexport %s=1\ncase \"$1\" in version|--help) exec '%[2]s' \"$@\";; esac\nexec "+
		"'%[2]s' --td-form=full \"$@\"\n", beZinc, own)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	x, err := toolchain.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return explore.Version{Name: "full", Executable: x}
}

// page is what the script does on one model.
type page struct {
	Name string `json:"name"`
	Path string `json:"-"`
	URL  string `json:"url"`
	// Click is part of a source line of an operation on the engine.
	Click string `json:"click"`
	// Break and With make a statement wrong: the text of the line that holds Break
	// gets With for it. Message is part of what is said of it.
	Break   string `json:"break"`
	With    string `json:"with"`
	Message string `json:"message"`
	Large   bool   `json:"large"`
	// Whole is set if everything is tried on it, else it is looked at in each theme.
	Whole bool `json:"whole"`
	// Themes are those that it is opened in, the first of them to use it whole.
	Themes []string `json:"themes"`
}

// large is the model that must show its text in two seconds, compiled or not.
const large = "parakeet-eou-encoder-1280ms"

// joint is a model with operations in transfers, on the engine and on the CPU.
const joint = "parakeet-eou-joint"

// named gives a model's folder the name that the page shows.
func named(t *testing.T, name, dir string) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	return link
}

// serve serves a model and returns the page's address. Nothing is compiled before
// the page asks for it.
func serve(t *testing.T, path string, versions ...explore.Version) string {
	t.Helper()
	s, err := explore.New(explore.Options{
		Models:   []explore.Source{{Path: path}, {Path: filepath.Join("testdata", "wrong.mil")}},
		Versions: versions,
		Log:      os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String() + "/"
}

// htmlReport writes the HTML report of a model and returns its path.
func htmlReport(t *testing.T, model string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "report.html")
	var out, msg bytes.Buffer
	if status := cli.Main([]string{model, "-o", filepath.Join(dir, "model.hwx"), "--report", "html=" + path},
		strings.NewReader(""), &out, &msg); status != 0 {
		t.Fatalf("exit status %d: %s", status, &msg)
	}
	return path
}

// TestPageWorksInTheBrowser opens models in the browser and uses the page as a reader does.
func TestPageWorksInTheBrowser(t *testing.T) {
	if *chromium == "" {
		t.Skip("no browser is given; make browser-test gives one")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node")
	}
	pages := []page{{
		Name: "digits", Path: filepath.Join("..", "..", "..", "examples", "digits", "digits.mlmodelc"),
		Click: "conv2 = conv(", Break: "= relu(x = conv2)", With: "= relu(x = conv9)", Message: "conv9",
		Themes: []string{"dark"}, Whole: true,
	}}
	corpus := ""
	t.Run("corpus", func(t *testing.T) { corpus = filepath.Join(shareddir.Find(t), "corpus") })
	if corpus != "" {
		pages = append(pages, page{
			Name: large, Path: named(t, large, shareddir.WithWeights(t, filepath.Dir(corpus),
				filepath.Join(corpus, large))),
			Click: "input_11_cast_fp16 = conv(", Break: "relu(x = input_5_cast_fp16)", With: "relu(x = input_99)",
			Message: "input_99", Large: true, Whole: true, Themes: []string{"dark", "light"},
		})
	}
	if corpus != "" && testform.Long() {
		pages = append(pages, page{
			Name: joint, Path: named(t, joint, shareddir.WithWeights(t, filepath.Dir(corpus),
				filepath.Join(corpus, joint))),
			Click: "input_7_cast_fp16 = relu(", Break: "relu(x = input_5_cast_fp16)", With: "relu(x = input_99)",
			Message: "input_99", Themes: []string{"light", "dark"},
		})
	}
	version := other(t)
	reports := []string{htmlReport(t, pages[0].Path)}
	if corpus != "" {
		reports = append(reports, htmlReport(t, pages[1].Path))
	}
	for i := range pages {
		pages[i].URL = serve(t, pages[i].Path, version)
	}
	config, err := json.Marshal(map[string]any{
		"chromium": *chromium,
		"modules":  *modules,
		"pictures": *pictures,
		"pages":    pages,
		"reports":  reports,
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "pages.mjs", string(config))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
}
