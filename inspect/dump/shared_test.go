package dump

import (
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
)

// TestSharedChainIsPrintedOnce checks that a chain which a second procedure shares is a fault.
func TestSharedChainIsPrintedOnce(t *testing.T) {
	f, err := hwx.Read(compiled(t))
	if err != nil {
		t.Fatal(err)
	}
	var program *hwx.Program
	for _, c := range f.Commands {
		if p, ok := c.(*hwx.Program); ok {
			program = p
		}
	}
	second := *program
	second.Flavor, second.Name, second.Tail = hwx.FlavorProcedure, "net2", nil
	b, err := hwx.Encode(shifted(f, &second))
	if err != nil {
		t.Fatal(err)
	}
	ok, out, errs := dumped(t, b, "fields", "relocs", "constants", "records")
	if ok || strings.Count(out, "\ntask 0 at 0x0, 157 words") != 1 ||
		strings.Count(errs, "procedure net2: task 0 of 10: task section byte 0x0: the task is in the chain of "+
			"procedure net already") != 1 {
		t.Errorf("ok is %v\n%s", ok, errs)
	}
}

// shifted gives f one command more, its tables and segments a page further on.
func shifted(f *hwx.File, c hwx.Command) *hwx.File {
	f.Commands = append(f.Commands, c)
	f.Size += hwx.Page
	for _, c := range f.Commands {
		switch c := c.(type) {
		case *hwx.Segment:
			if c.FileSize > 0 {
				c.FileOff += hwx.Page
			}
			for _, s := range c.Sections {
				if s.Offset > 0 {
					s.Offset += hwx.Page
				}
				if s.RelocOff > 0 {
					s.RelocOff += hwx.Page
				}
			}
		case *hwx.Symtab:
			c.SymOff += hwx.Page
			c.StrOff += hwx.Page
		}
	}
	return f
}
