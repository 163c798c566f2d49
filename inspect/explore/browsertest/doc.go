// Package browsertest drives a real browser over the page of package explore and the
// page that `make web` writes. It holds tests alone, which `make browser-test` runs.
//
// Input: headless Chromium, node and playwright-core, which the script run
// installs where it can. Output: pass or fail, and screenshots in
// dist/browsertest.
//
// Invariants: nothing is compared with a picture of another machine, whose
// fonts differ; colours are looked for in screenshots where the page must show them.
// The browser's own log of its sockets says that no connection left the machine.
package browsertest
