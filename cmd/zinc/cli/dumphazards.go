package cli

import (
	"errors"
	"fmt"

	"github.com/zinc-compiler/zinc/emit/hazard"
	"github.com/zinc-compiler/zinc/emit/hwx"
)

// hazards prints what a container's tasks would do wrong; finding any is a
// failure.
func (c *dumpCommand) hazards(path string, b []byte) error {
	if kindOf(b) != kindContainer {
		return fmt.Errorf("%s: not a container by its first bytes; --hazards checks the tasks of a container", path)
	}
	f, err := hwx.Read(b)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r, err := hazard.Check(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if c.json {
		if err := c.whole("hazards", r, nil); err != nil {
			return err
		}
	} else {
		for _, h := range r.Hazards {
			fmt.Fprintln(c.out, h)
		}
		fmt.Fprintf(c.out, "%d hazards in %d tasks of %d procedures\n", len(r.Hazards), r.Tasks, r.Procedures)
	}
	if len(r.Hazards) > 0 {
		return &shownError{errors.New("the container has hazards")}
	}
	return nil
}
