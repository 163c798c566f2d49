//go:build unix

package explore

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/internal/mapfault"
)

// weighed is a value of a cache in a test.
type weighed struct{ n int }

func (w *weighed) weight() int64 { return int64(w.n) }
func (w *weighed) close() error  { return nil }

// TestServerSurvivesShortenedWeightFile reads a mapped file that has been cut, in a handler and in the maker of a
// cached value, which has a goroutine of its own: both must answer with an error that names the file.
func TestServerSurvivesShortenedWeightFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weights.bin")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o666); err != nil {
		t.Fatal(err)
	}
	data, unmap, err := blobfile.Map(path)
	if err != nil {
		t.Fatal(err)
	}
	defer unmap()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	read := func() *weighed {
		w := &weighed{}
		for _, b := range data {
			w.n += int(b)
		}
		return w
	}

	c := newCache[*weighed](1, 1<<20)
	_, _, err = c.get(t.Context(), "k", func(context.Context) (*weighed, error) { return read(), nil })
	if short := (*mapfault.Error)(nil); !errors.As(err, &short) || short.File != path {
		t.Errorf("cache: error %v, want one about %s", err, path)
	}

	s := newClient(t, small).s
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
	s.guarded(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Weight", http.StatusText(read().n))
	})).ServeHTTP(w, r)
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "was shortened while in use") {
		t.Errorf("handler: status %d: %s", w.Code, w.Body)
	}
}
