//go:build !unix

package main

import "errors"

// limit is not supported.
func limit(uint64) error {
	return errors.New("a limit of processor time needs a Unix system; -cpu 0 sets none")
}
