package frontend

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/zinc-compiler/zinc/frontend/netplist"
	"github.com/zinc-compiler/zinc/internal/diag"
)

// listPrefix is how many bytes of a file are read to detect a property list.
const listPrefix = 4096

// containerMagic begins compiled containers.
const containerMagic = "\xce\xfa\xef\xbe"

const containerHint = "open the model that it was compiled from; zinc check prints the time of a container's tasks, " +
	"and zinc dump what is in it"

// propertyList reports whether the regular file of that name begins as a property list does. A compiled container is a
// *FormError.
func propertyList(name string) (bool, error) {
	info, err := os.Stat(name) // before opening, since opening a pipe would wait for a writer
	if err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	b := make([]byte, listPrefix)
	n, err := io.ReadFull(f, b)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return false, err
	}
	if strings.HasPrefix(string(b[:n]), containerMagic) {
		return false, &FormError{name, "a compiled container, not a model", containerHint}
	}
	return netplist.Is(b[:n]), nil
}

// openNetplist reads a network description. Its weights are in memory, not
// mapped: many descriptions name one file more than once.
func openNetplist(name string, opts Options) (*Model, error) {
	dir := opts.WeightsDir
	if dir == "" {
		dir = filepath.Dir(name)
	}
	p, err := netplist.ReadFile(name, dir)
	if err != nil {
		return nil, err
	}
	return &Model{Program: p, Path: name, Warnings: &diag.List{}}, nil
}
