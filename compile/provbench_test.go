package compile_test

import (
	"context"
	"io"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/target"
)

// BenchmarkProvenance compiles the corpus's model of 2971 statements with and without a debug database, and also writes
// the database.
func BenchmarkProvenance(b *testing.B) {
	shared := shareddir.Find(b)
	dir := shareddir.WithWeights(b, shared, shared+"/corpus/"+bigModel)
	for _, with := range []bool{false, true} {
		name := "without"
		if with {
			name = "with"
		}
		b.Run(name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				m, err := frontend.Open(dir, frontend.Options{})
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				r, err := compile.All(context.Background(), m.Program,
					compile.Options{Target: target.H13, Provenance: with})
				if err != nil {
					b.Fatal(err)
				}
				if with {
					if err := r.Provenance.Write(io.Discard); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				if err := m.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
