package e5rt

import "github.com/zinc-compiler/zinc/cache"

// WriteEntry puts a pair under a key into a folder.
func WriteEntry(folder string, k Key, p Pair) error {
	return cache.Store{Folder: folder}.Put(k, cache.Pair(p))
}
