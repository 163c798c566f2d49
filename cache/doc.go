// Package cache stores compiled pairs in a folder, keyed by the content that they were compiled from.
//
// A Store maps keys (pair.KeyOf) to pairs. It returns the container and the descriptor byte for byte, or an error if
// there is no entry. Debug databases are not stored.
//
// Invariants:
//
//   - An entry appears whole or not at all, whatever happens on the way, and any
//     number of processes may read, write and collect one folder at one time: an
//     entry is one file with its checksum, written beside its place and renamed.
//   - An entry that is not whole is an *EntryError, never a pair. The checksum
//     finds corruption, not forgery: who may write to the folder decides what runs.
//   - A Store with a limit holds no more than that once a Put has returned and no
//     other process puts; what was used longest ago goes first.
package cache
