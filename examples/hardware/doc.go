// Package hardware has the script that runs a program of zinc on the engine of an M1 under Linux and records it;
// docs/hardware.md describes how. Its test runs the script on a stand-in for the driver's binding, which computes what
// zinc's simulator computes, and verifies the record.
package hardware
