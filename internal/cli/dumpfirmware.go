package cli

import (
	"fmt"

	"github.com/zinc-compiler/zinc/emit/afpp"
)

// firmware prints a firmware container.
func (c *dumpCommand) firmware(path string, b []byte) error {
	p, err := afpp.Read(b)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !c.json {
		return afpp.Dump(c.out, p)
	}
	j, err := afpp.JSON(p)
	if err == nil {
		_, err = c.out.Write(j)
	}
	return err
}
