// Package cache stores compiled pairs in a folder, keyed by the content that they were compiled from.
//
// A Store maps keys (pair.KeyOf) to pairs. It returns the container and the descriptor byte for byte, or an error if
// there is no entry. Debug databases are not stored.
//
// A container of at least 1 MiB is a file beside its entry, so that the system can copy it to an output (Store.Entry).
// FileSum remembers the SHA-256 of zinc and of the files of models. A Remote keeps pairs on a server for several
// machines.
//
// Invariants:
//
//   - An entry appears whole or not at all, even if the writer is interrupted, and any number of processes may read,
//     write and collect one folder at the same time: an entry is one file with its checksum, written under a temporary
//     name in the same folder and renamed. The file of a large container is there before its entry is.
//   - Reading an incomplete entry returns an *EntryError, never a pair. The checksum finds corruption, not forgery, so
//     a folder to which others can write is a *TrustError, unless the Store trusts it. Store.Entry compares the size of
//     a large container and the time of its last change with the entry's, and computes the checksum only if
//     they differ; Get computes it always, and whatever loads the pair compares it with the one in the descriptor.
//   - The entries of a Store with a limit are within it when a Put has returned and no other process puts; those used
//     longest ago are removed first.
package cache
