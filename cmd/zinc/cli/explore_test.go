package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestExploreServesUntilInterrupted checks that an interrupt ends the server with exit status 0.
func TestExploreServesUntilInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	address := make(chan string, 1)
	msg := &trigger{text: "until interrupted"}
	msg.f = func() { address <- regexp.MustCompile(`http://[^/]+/`).FindString(msg.String()) }
	var out bytes.Buffer
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, []string{"explore", filepath.Join(digits(t), "digits.mlmodelc"), "--listen", "127.0.0.1:0"},
			strings.NewReader(""), &out, msg)
	}()
	url := <-address
	for path, want := range map[string]string{
		"":                        "<title>zinc explore</title>",
		"api/models":              `"name":"digits"`,
		"api/source?model=digits": "conv1_relu",
	} {
		r, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v, status %d: %.200s", path, err, r.StatusCode, b)
		}
	}
	cancel()
	if s := <-status; s != statusOK {
		t.Errorf("exit status %d: %s", s, msg)
	}
}
