package broker

import (
	"errors"
	"fmt"
	"net"
)

// Attest vouches for a caller on a socket: it returns the identity of the peer, given what the peer claims, or refuses
// it. On a machine the kernel does so, from the code signature of the process.
type Attest func(c net.Conn, claim Identity) (Identity, error)

// Peer takes the process and user of a Unix socket's peer from the host's kernel, and the team, hash and entitlements
// from the claim (modelled: there are no signatures here, so whoever may connect to the socket is trusted). It refuses
// a claim of another process or user, and any peer for which the host's kernel has no credentials.
func Peer(c net.Conn, claim Identity) (Identity, error) {
	pid, uid, err := peerCredentials(c)
	switch {
	case err != nil:
		return Identity{}, err
	case claim.PID != pid:
		return Identity{}, fmt.Errorf("the peer is process %d and claims to be %d", pid, claim.PID)
	case claim.UID != uid:
		return Identity{}, fmt.Errorf("the peer runs as user %d and claims to be %d", uid, claim.UID)
	}
	return claim, nil
}

var errNoCredentials = errors.New("the host has no credentials of the peer; set Config.Attest")
