// Package atomicfile replaces several files together: either all of them get
// their new contents, or all keep their old contents.
//
// It takes paths and functions that write contents. If it returns an error, the
// files are unchanged.
//
// Folders above a target that are missing are created, and removed again if nothing is written.
//
// Invariants: contents are written to a temporary file in the folder of their
// target, synced to the disk and then renamed over the target, so a reader sees
// either the old file or the new one; no target changes before all contents are
// written; when a rename fails, files already renamed are restored from a second
// link to the old file; temporary files are always removed unless the process is
// killed, and then by the next Write of the same target, which finds that no process
// has them locked. A target that is not a regular file (a device, a folder) is refused.
//
// No file system renames two files in one step: a process that is killed between
// two renames leaves one new file and one old. Files that belong together must make
// this detectable.
package atomicfile
