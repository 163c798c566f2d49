// Package chrometrace writes files in the Chrome trace event format, which Perfetto and chrome://tracing open.
//
// It takes names of processes and threads, and events with times in microseconds, and writes one JSON object, event by
// event. The first error is kept and returned by Close.
//
// Invariants: the output depends only on the calls, so equal calls write equal bytes.
//
// The format is described in "Trace Event Format", the document that the Chromium project publishes.
package chrometrace
