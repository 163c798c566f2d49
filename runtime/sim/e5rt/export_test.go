package e5rt

// For tests.
var (
	WriteEntry = writeEntry
	ReadEntry  = readEntry
	EntryPath  = entryPath
)
