// Package explore shows what the compiler makes of a model, in a browser: the
// text, the program after each pass, tasks and their fields, the container, the
// descriptor's chain, outputs, and what of each came from which statement.
//
// Input: paths of models, and requests over HTTP. Output: a page
// that is part of the program (folder assets) and a JSON API, which docs/explore.md
// describes. Where something came from is answered by package provenance alone.
//
// Invariants: nothing outside the models' folders is read, and nothing is
// written but temporary files of the process; the page asks nothing of any
// other host, which its content security policy forbids as well; a request that
// did not come to the name under which the server is reached, or whose page is
// another's, is refused. The bytes of a body, the compilations at a time and in
// waiting, the time of each, the heap while one goes on and the bytes that are
// kept of past ones have limits (Limits); whatever a body says, the answer is JSON
// with an error that names the place, the rule and the limit. The same
// configuration of the same text has the same key and the same answers.
package explore
