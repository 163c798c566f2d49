package broker

import (
	"errors"
	"fmt"
	"net"
)

// Attest vouches for a caller on a socket: it returns who the peer is, given what
// it claims, or refuses it. The kernel does that on a machine, from the code
// signature of the process.
type Attest func(c net.Conn, claim Identity) (Identity, error)

// Peer takes process and user from the host's kernel, which knows them of a Unix
// socket's peer, and team, hash and entitlements from the claim (modelled: there
// are no signatures here, so whoever may connect to the socket is trusted with
// them). A claim of another process or user is refused. Where the host's kernel
// says nothing, the connection is refused.
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

var errNoCredentials = errors.New("the host does not say who the peer is; give the broker an Attest of its own")
