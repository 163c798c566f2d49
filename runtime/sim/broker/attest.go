package broker

import "net"

// Attest vouches for a caller on a socket: it returns who the peer is, given what
// it claims, or refuses it. The kernel does that on a machine, from the code
// signature of the process; this model has none.
type Attest func(c net.Conn, claim Identity) (Identity, error)

func Peer(c net.Conn, claim Identity) (Identity, error) { return claim, nil }
