// Package loader loads a hardware container into a client's device memory, as the kernel does: it maps the segments and
// builds the firmware container (AFPP).
//
// [Read] reads the bytes of a container, and [Program.Load] loads it into the address space of a client. The resulting
// [Loaded] has the device address of the firmware container and can build the loaded program image, which is the
// container with its bases resolved.
//
// Invariants:
//
//   - A container that Read takes has valid structure, tasks that decode, and
//     only streams whose buffer exists: what a task names and the load cannot
//     provide is reported with its place, before anything is mapped.
//   - Read allocates by the length of the container. Load allocates what the
//     container says it maps ([Program.Memory]), once the aperture can hold it.
//   - Two loads of one container differ only in relocated fields: the image in
//     segment bases and what points into them, the firmware container in record
//     operands, register bases, bar addresses, its window and checksums.
//   - Coefficients are in memory once, apart from the container file: the firmware
//     container's kernel section is the device memory that constant bars name.
//   - After Close nothing of the load is mapped. Without Close nothing is moved
//     or evicted.
//
// The chapters document the steps, the usage codes, the page, the slots, the names of the sections, and the classes of
// operations. Modelled are where in the register aperture a load's registers begin, that ports stay open until the
// call, and how tasks are classified (operation.go).
package loader
