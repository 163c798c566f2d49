package dump

import (
	"fmt"
	"io"

	"github.com/zinc-compiler/zinc/emit/hazard"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/diag"
)

// Hazards prints the hazards in the tasks of the container b, which was read from path, and
// returns their number.
func Hazards(w io.Writer, path string, b []byte, o Options) (int, error) {
	if KindOf(b) != KindContainer {
		return 0, fmt.Errorf("%s: the file does not begin as a container; %s checks the tasks of a container", path,
			o.name("hazards"))
	}
	f, err := hwx.Read(b)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	r, err := hazard.Check(f)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	n := len(r.Hazards)
	if o.JSON {
		return n, (&printer{Options: o, out: w}).whole("hazards", r, nil)
	}
	for _, h := range r.Hazards {
		fmt.Fprintln(w, h)
	}
	_, err = fmt.Fprintf(w, "%s in %s of %s\n", diag.Count(n, "hazard", "hazards"),
		diag.Count(r.Tasks, "task", "tasks"), diag.Count(r.Procedures, "procedure", "procedures"))
	return n, err
}
