package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/inspect/toolchain"
	"github.com/zinc-compiler/zinc/internal/regularfile"
)

// PairOf reads the container and the descriptor that another executable wrote. Errors name neither's path, since the
// folder is private.
func PairOf(r *toolchain.Result) (p pair.Pair, err error) {
	for _, f := range []struct {
		name, path string
		to         *[]byte
	}{{"container", r.Container, &p.Container}, {"descriptor", r.Descriptor, &p.Descriptor}} {
		if *f.to, err = regularfile.Read(f.path); err != nil {
			if what := errors.Unwrap(err); what != nil {
				err = what
			}
			return p, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return p, nil
}

// ReportOf decodes the report of another executable, nil if it wrote none.
func ReportOf(r *toolchain.Result) (*compile.Report, error) {
	if r.Report == nil {
		return nil, nil
	}
	report := new(compile.Report)
	if err := json.Unmarshal(r.Report, report); err != nil {
		return nil, err
	}
	if slices.Contains(report.Functions, nil) {
		return nil, errors.New("functions: one is null")
	}
	return report, nil
}

// DatabaseOf opens the debug database of another executable; nil if it wrote none, one of another revision, or one of
// another container.
func DatabaseOf(r *toolchain.Result, container []byte) *provenance.DB {
	if r.Database == "" {
		return nil
	}
	db, err := provenance.Open(r.Database)
	if err != nil || !of(db, container) {
		return nil
	}
	return db
}
