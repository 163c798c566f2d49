// Package browsertest drives a real browser over the page of package explore. It
// holds a test alone, which `make browser-test` runs.
//
// What goes in: headless Chromium, node and playwright-core, which the script run
// installs where it can. What comes out: pass or fail, and screenshots in
// dist/browsertest.
//
// What always holds: nothing is compared with a picture of another machine, whose
// fonts differ; colours are looked for in screenshots where the page must show them.
// The browser's own log of its sockets says that no connection left the machine.
package browsertest
