// Package explore shows a compilation in a browser: the model's text, the program after each pass, tasks and their
// fields, the container, the descriptor's chain, outputs, and which statement each part came from.
//
// Its input is paths of models and requests over HTTP. It serves a page that is part of the program (folder assets) and
// a JSON API, which docs/explore.md describes. All origins come from package provenance.
//
// Invariants: nothing outside the models' folders is read, and nothing is written but temporary files of the process;
// the page makes no requests to other hosts, which its content security policy also forbids; requests to another host
// name or from another page are refused. The size of a body, the number of running and waiting compilations, the time
// of each, the heap while one runs and the bytes kept of past ones have limits (Limits); the answer to an invalid body
// is JSON with an error that names the place, the rule and the limit. The same configuration of the same text has the
// same key and the same answers.
package explore
