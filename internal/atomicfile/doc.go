// Package atomicfile replaces several files together: either all of them get
// their new contents, or all keep what they had.
//
// In: paths and functions that write contents. Out: the files, or an error and
// the files as they were.
//
// Invariants: contents go to a temporary file in the folder of their
// target, are synced to the disk and then renamed over it, so a reader sees the
// old file or the new one and never a part; no target is touched before all
// contents are written; when a rename fails, files already renamed are put back
// from a second link to the old file; temporary files are removed on every way
// out but the death of the process. A target that is not a regular file (a
// device, a folder) is refused.
//
// No file system renames two files in one step: a process that dies between two
// renames leaves one new file and one old. Files that belong together must be
// able to tell.
package atomicfile
