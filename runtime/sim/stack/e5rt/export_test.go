package e5rt

import (
	"github.com/zinc-compiler/zinc/cache"
	"github.com/zinc-compiler/zinc/pair"
)

// WriteEntry puts a pair under a key into a folder.
func WriteEntry(folder string, k pair.Key, p pair.Pair) error {
	return cache.Store{Folder: folder}.Put(k, p)
}
