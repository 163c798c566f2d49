package cache_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/compile/cache"
	"github.com/zinc-compiler/zinc/compile/pair"
)

// server keeps what is PUT, as a server of the protocol does, and may be told to misbehave.
type server struct {
	mu     sync.Mutex
	files  map[string][]byte
	get    func(w http.ResponseWriter, path string, b []byte) bool // true: it has answered
	status int                                                     // of every PUT; 0: 201
	order  []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Method {
	case http.MethodPut:
		if s.status != 0 {
			w.WriteHeader(s.status)
			return
		}
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.files[r.URL.Path] = b
		s.order = append(s.order, r.URL.Path)
		w.WriteHeader(http.StatusCreated)
	case http.MethodGet:
		b, ok := s.files[r.URL.Path]
		switch {
		case s.get != nil && s.get(w, r.URL.Path, b):
		case !ok:
			http.NotFound(w, r)
		default:
			_, _ = w.Write(b)
		}
	}
}

func remote(t *testing.T, timeout time.Duration) (*server, *cache.Remote) {
	t.Helper()
	s := &server{files: map[string][]byte{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	r, err := cache.NewRemote(h.URL+"/zinc/", timeout)
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

var (
	remoteKey  = pair.Key{1, 2, 3}
	remotePair = pair.Pair{
		Container: bytes.Repeat([]byte("task"), 5000), Descriptor: []byte("chain"), Summary: "main: 1 of 2",
	}
)

// TestRemoteKeepsPairs stores a pair under the paths of the protocol, blobs before the entry, and gets it back.
func TestRemoteKeepsPairs(t *testing.T) {
	s, r := remote(t, time.Minute)
	ctx := t.Context()
	if _, err := r.Get(ctx, remoteKey); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty server: %v", err)
	}
	if err := r.Put(ctx, remoteKey, remotePair); err != nil {
		t.Fatal(err)
	}
	sum := func(b []byte) string { x := sha256.Sum256(b); return hex.EncodeToString(x[:]) }
	want := "/zinc/cas/" + sum(remotePair.Container) + " /zinc/cas/" + sum(remotePair.Descriptor) + " /zinc/ac/" +
		remoteKey.String()
	if got := strings.Join(s.order, " "); got != want {
		t.Errorf("stored %s, want %s", got, want)
	}
	got, err := r.Get(ctx, remoteKey)
	if err != nil || !bytes.Equal(got.Container, remotePair.Container) ||
		!bytes.Equal(got.Descriptor, remotePair.Descriptor) || got.Summary != remotePair.Summary {
		t.Errorf("the pair is not what was stored: %v", err)
	}
	for path := range s.files {
		if strings.Contains(path, "/cas/") {
			delete(s.files, path)
			break
		}
	}
	if _, err := r.Get(ctx, remoteKey); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a blob that was evicted: %v", err)
	}
}

// TestRemoteRefusesWrongBytes changes what the server returns in every way that it can be wrong.
func TestRemoteRefusesWrongBytes(t *testing.T) {
	s, r := remote(t, time.Minute)
	ctx := t.Context()
	other := pair.Key{9}
	for _, k := range []pair.Key{remoteKey, other} {
		p := remotePair
		if k == other {
			p.Descriptor = []byte("another")
		}
		if err := r.Put(ctx, k, p); err != nil {
			t.Fatal(err)
		}
	}
	entry := s.files["/zinc/ac/"+remoteKey.String()]
	write := func(b []byte) func(http.ResponseWriter) { return func(w http.ResponseWriter) { _, _ = w.Write(b) } }
	status := func(n int) func(http.ResponseWriter) { return func(w http.ResponseWriter) { w.WriteHeader(n) } }
	flipped := bytes.Clone(remotePair.Container)
	flipped[17] ^= 1
	for name, c := range map[string]struct {
		kind   string
		answer func(w http.ResponseWriter)
		want   string
	}{
		"a byte of a blob":         {"cas", write(flipped), "another SHA-256"},
		"a blob's end is missing":  {"cas", write(remotePair.Container[:100]), "another SHA-256"},
		"a blob that does not end": {"cas", write(bytes.Repeat(flipped, 100)), "more than 20000 bytes"},
		"an empty blob":            {"cas", write(nil), "another SHA-256"},
		"the entry of another key": {"ac", write(s.files["/zinc/ac/"+other.String()]), "another key"},
		"another summary": {"ac", write(bytes.Replace(entry, []byte(remotePair.Summary), []byte("main: 2 of 2"), 1)),
			"was changed"},
		"half an entry":          {"ac", write(entry[:len(entry)/2]), "not an entry"},
		"an empty entry":         {"ac", write(nil), "missing output file"},
		"a page of text":         {"ac", write([]byte("<html>sign in</html>")), "not an entry"},
		"a large entry":          {"ac", write(bytes.Repeat(entry, 1000)), "more than 65536 bytes"},
		"an error":               {"cas", status(500), "500 Internal Server Error"},
		"a password is required": {"ac", status(401), "401 Unauthorized"},
		"an entry elsewhere": {"ac", func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://192.0.2.1/")
			w.WriteHeader(302)
		}, "302 Found"},
		"a connection that ends": {"cas", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", strconv.Itoa(len(flipped)))
			_, _ = w.Write(flipped[:1000])
		}, "unexpected EOF"},
	} {
		s.get = func(w http.ResponseWriter, path string, _ []byte) bool {
			if !strings.Contains(path, "/"+c.kind+"/") {
				return false
			}
			c.answer(w)
			return true
		}
		p, err := r.Get(ctx, remoteKey)
		if e := (*cache.RemoteError)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
		if p.Container != nil || p.Descriptor != nil {
			t.Errorf("%s: a pair was returned", name)
		}
	}
}

// TestRemoteWaitsNoLongerThanItsTimeout uses servers that are silent, slow, dead or full.
func TestRemoteWaitsNoLongerThanItsTimeout(t *testing.T) {
	s, r := remote(t, time.Millisecond)
	ended := make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.Contains(q.URL.Path, "slow") {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("x"))
			w.(http.Flusher).Flush()
		}
		select {
		case <-ended:
		case <-q.Context().Done():
		}
	}))
	t.Cleanup(h.Close)
	t.Cleanup(func() { close(ended) })
	for _, path := range []string{"silent", "slow"} {
		r, err := cache.NewRemote(h.URL+"/"+path, time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Get(t.Context(), remoteKey); err == nil || !strings.Contains(err.Error(), "no answer in") {
			t.Errorf("%s: %v", path, err)
		}
		if err := r.Put(t.Context(), remoteKey, remotePair); path == "silent" && (err == nil ||
			!strings.Contains(err.Error(), "no answer in")) {
			t.Errorf("%s: %v", path, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Get(ctx, remoteKey); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
	}
	s.status = http.StatusInsufficientStorage
	r, err := cache.NewRemote(r.String(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Put(t.Context(), remoteKey, remotePair); err == nil || !strings.Contains(err.Error(), "507") {
		t.Errorf("a full server: %v", err)
	}
	dead, err := cache.NewRemote("http://user:secret@127.0.0.1:1/", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	_, err = dead.Get(t.Context(), remoteKey)
	if e := (*cache.RemoteError)(nil); !errors.As(err, &e) || strings.Contains(err.Error(), "secret") {
		t.Errorf("no server: %v", err)
	}
	for _, bad := range []string{"", "host", "ftp://host/", "http://", "http://h/?q", "http://user:secret@h:x/"} {
		if _, err := cache.NewRemote(bad, time.Second); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := cache.NewRemote("http://h/", 0); err == nil {
		t.Error("a timeout of 0 was accepted")
	}
}
