// Package anec reads and writes the files that the public Linux driver of the engine takes: its library loads them, and
// a converter of the same project makes them from hardware containers of the h13 target.
//
// In: the bytes of such a file (Read), or of a container (FromContainer). Out: a File, which writes itself (WriteTo).
//
// The layout is struct anec in eiln/ane (libane/ane.h): a header of 0x6a8 bytes, zeros up to 0x1000, then tasks and
// constants. The driver points register 0 at the tasks, 1 at the constants, which begin at the next multiple of 16, 3
// at scratch memory, and from 4 on at the outputs and then the inputs.
//
// Invariants:
//
//   - WriteTo of what Read returns writes the same bytes. Read accepts the header in 0x800 bytes too, which later
//     versions of the library expect, and keeps what is in them after the fields.
//   - FromContainer returns the file that the converter (eiln/anecc 1.0.9) makes of the container, byte for byte, or an
//     error that names the rule. It refuses where the converter does. It also refuses where the converter's file would
//     bind other buffers than the container's tasks read and write.
//   - No input makes the package panic, and memory is bounded by a constant beside slices of the input.
package anec
