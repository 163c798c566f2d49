// Package pair represents a compiled model: the hardware container, the dispatch descriptor and the debug database.
//
// It writes the three files, all or none of them, reads them given the path of one, and computes keys (NewKey, KeyOf),
// which name a pair by what it is compiled from.
//
// Invariants:
//
//   - The files of a pair are named after its container and are in one folder.
//   - A key covers everything that can change a byte of the pair.
//   - The package reads no format: whether the bytes are valid, and belong together,
//     is for what loads them to find out.
package pair
