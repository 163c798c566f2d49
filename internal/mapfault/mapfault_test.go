//go:build unix

package mapfault_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/internal/mapfault"
)

// shortened returns a mapping of 8 MiB whose file has been cut to 4 KiB.
func shortened(t *testing.T) (path string, data []byte, unmap func() error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "weights.bin")
	if err := os.WriteFile(path, make([]byte, 8<<20), 0o666); err != nil {
		t.Fatal(err)
	}
	data, unmap, err := blobfile.Map(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 4<<10); err != nil {
		t.Fatal(err)
	}
	return path, data, unmap
}

// sum reads b; the result is kept so that the compiler keeps the reads.
func sum(b []byte) {
	n := 0
	for _, x := range b {
		n += int(x)
	}
	total.Add(int64(n))
}

var total atomic.Int64

func TestGuardReportsAShortenedFile(t *testing.T) {
	for _, how := range []string{"directly", "in goroutines", "closed on the way up", "guarded twice"} {
		path, data, unmap := shortened(t)
		err := mapfault.Guard(func() error {
			switch how {
			case "in goroutines":
				var g mapfault.Group
				for i := range 4 {
					g.Go(func() { sum(data[i<<21 : (i+1)<<21]) })
				}
				g.Wait()
			case "closed on the way up":
				defer unmap()
				sum(data)
			case "guarded twice":
				return mapfault.Guard(func() error { sum(data); return nil })
			default:
				sum(data)
			}
			return nil
		})
		var short *mapfault.Error
		if !errors.As(err, &short) || short.File != path || short.Offset < 4<<10 || short.Size != 8<<20 ||
			!strings.Contains(err.Error(), "was shortened") {
			t.Errorf("%s: error %v, want one about %s from byte 4096 on", how, err, path)
		}
		if how != "closed on the way up" {
			if err := unmap(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestGuardPassesOtherPanicsOn(t *testing.T) {
	for _, f := range []func(){
		func() { panic("other") },
		func() { var p *int; *p = 1 },
		func() {
			var g mapfault.Group
			g.Go(func() { panic("other") })
			g.Wait()
		},
	} {
		func() {
			defer func() {
				if r := recover(); r == nil || mapfault.Of(r) != nil {
					t.Errorf("recovered %v, want the panic of the function", r)
				}
			}()
			_ = mapfault.Guard(func() error { f(); return nil })
		}()
	}
}
