// Package reported finds patterns in a program about which a public report says that Apple's compiler or runtime
// refuses them, computes something else, or leaves the engine.
//
// In: a program as its text says it, before passes, and the target. Out: the rules that apply, each with its
// statements and the reports: link, chips, systems, effect, and what to write instead where that is known.
//
// Invariants: a finding is about what a report says, never about zinc's own verdict. A rule about values applies only
// where the program or the caller bounds them (lint.Known): nothing known means no finding. The rules take time linear
// in the program, and read no constants except those that a rule is about: the gamma and beta of layer_norm, masks,
// small operands of bounded values. The same program gives the same findings in the same order.
package reported
