//go:build !linux

package cache

import (
	"io/fs"
	"time"
)

// identity reports that files have to be read to find out whether they have changed.
func identity(fs.FileInfo) (string, bool) { return "", false }

func statusTime(info fs.FileInfo) time.Time { return info.ModTime() }
