// Package pair is the form in which a compiled model passes from hand to hand: the
// hardware container, the dispatch descriptor and the debug database.
//
// In: the bytes of the three, or the path of one of their files. Out: the files, all
// or none of them, or the bytes again; and keys (NewKey, KeyOf), which name a pair by
// what it is compiled from.
//
// Invariants:
//
//   - The files of a pair are named after its container and are in one folder.
//   - A key covers everything that can change a byte of the pair.
//   - The package reads no format: whether the bytes are valid, and belong together,
//     is for what loads them to find out.
package pair
