// Package broker models the daemon that alone opens the engine: chapter 27's part
// on the entitlement gate and the broker model.
//
// In: connections of callers whose identity somebody vouches for, in this process
// ([Broker.Connect]) or over a Unix socket ([Broker.Serve], [Dial]), and the calls
// of [Methods]. Out: requests to the driver through [Services], on behalf of
// callers that hold what [Entitlements] (table 27.8) and the method ask for.
//
// Invariants:
//
//   - Nothing reaches the driver for a caller whose connection or method was
//     refused; every refusal is an [*Error] that names the method, the key and the
//     caller.
//   - A tenant is a team identifier and a code-directory hash (and the user, at a
//     per-user broker). Every tenant has a connection to the driver of its own,
//     and no resident program, base model, adapter or cached model of one is given
//     to another.
//   - What a connection made is released when it closes or dies: instances,
//     attachments, direct-path handles. A program that nobody holds is idle, and
//     idle programs lose their memory in the order of their last use.
//   - Hostile bytes on the socket end their connection and nothing else; what one
//     connection can make the broker hold is bounded by [Limits].
//   - Any number of goroutines may call. One caller after another gives the same
//     requests to the driver in the same order.
//
// What is modelled, not known: everything that chapter 27 names without numbers
// (how far a queue depth is reduced, the byte budgets, which tier a caller of each
// key belongs to, the slots that the trust-cache key reserves), and the numbers of
// the classes above user-interactive. Rows and constants say so where they stand.
// On a machine the kernel vouches for a caller; here [Attest] does. The queue index
// of a class is reported, and the driver has no argument for it. An adapter is a
// program of its own to the driver, which takes whole containers; the coefficients
// that differ are all that the broker replaces in it ([Adapt]).
package broker
