// Package broker models the daemon through which applications use the engine: the entitlement gate and the broker model
// of chapter 27.
//
// Callers with an attested identity connect in this process ([Broker.Connect]) or over a Unix socket ([Broker.Serve],
// [Dial]) and make the calls of [Methods]. The broker sends requests to the driver through [Services], on behalf of
// callers that hold the entitlements ([Entitlements], table 27.8) which the method requires.
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
// Modelled rather than known are everything that chapter 27 names without numbers (how far a queue depth is reduced,
// the byte budgets, the tier of a caller of each key, the slots that the trust-cache key reserves) and the numbers of
// the classes above user-interactive. Their rows and constants say so. On a machine the kernel vouches for a caller;
// here [Attest] does. The queue index of a class is the index of its priority, which the driver passes on. The driver
// accepts only whole containers, so an adapter is a separate program, in which the broker replaces only the
// coefficients that differ ([Adapt]).
package broker
