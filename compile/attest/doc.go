// Package attest tells which tasks recorded cases vouch for.
//
// In: a typed task. Out: its kind (what it computes, where its tensors are and
// the class of its shape, without any size), and the recorded cases whose tasks
// of that kind zinc writes word for word.
//
// What always holds: a kind is attested when at least one recorded task of it is
// equal in every word and none differs; one that differs takes the attestation
// from the whole kind. The table is made by a test of package compile from the
// recorded cases (go test ./compile -run TestAttestedKindsAreRecorded -update), is sorted, and
// nothing in lowering reads it.
package attest
