package broker

import (
	"cmp"
	"encoding/hex"
	"fmt"
)

// HashSize is the length of a code-directory hash in bytes.
const HashSize = 20

// Identity is the identity of a caller according to code signing and the kernel.
type Identity struct {
	PID               int
	UID               int
	TeamID            string
	CodeDirectoryHash [HashSize]byte
	Entitlements      []string
	// Seat is the client's place on a machine whose clients run in lockstep, from 1 on; 0 for one that only looks.
	Seat int
}

// String names the caller in messages.
func (id *Identity) String() string {
	team := id.TeamID
	team = cmp.Or(team, "no team")
	return fmt.Sprintf("process %d (%s, %s)", id.PID, team, hex.EncodeToString(id.CodeDirectoryHash[:4]))
}

// InTier gives the caller the baseline entitlement of a tier instead of its own: "restricted" (also "") or
// "unrestricted".
func (id *Identity) InTier(name string) error {
	key := KeyPrivate
	switch name {
	case "", Restricted.String():
	case Unrestricted.String():
		key = KeyAccess
	default:
		return fmt.Errorf("unknown tier %q; want %s or %s", name, Restricted, Unrestricted)
	}
	keys := []string{key}
	for _, k := range id.Entitlements {
		if k != KeyPrivate && k != KeyAccess {
			keys = append(keys, k)
		}
	}
	id.Entitlements = keys
	return nil
}

// tenant is the owner of resident programs and of a cache partition: what a
// second client must match.
type tenant struct {
	team string
	hash [HashSize]byte
	uid  int // of a per-user broker; otherwise 0
	// session distinguishes callers without a team identifier: nobody matches them.
	session uint64
}

// Tier is the class of an admitted connection.
type Tier uint8

// The three tiers.
const (
	NoTier Tier = iota
	Restricted
	Unrestricted
	PerUser
)

// tiers describes which callers are in each tier.
var tiers = [...]struct{ name, doc string }{
	NoTier: {"none", "a refused connection"},
	Restricted: {"restricted", "holders of " + KeyPrivate +
		": every method, the gated ones through the admission check"},
	Unrestricted: {"unrestricted", "holders of " + KeyAccess + " only: the baseline methods, never the gated ones"},
	PerUser: {"per-user", "callers of the per-user broker, of its user alone: the baseline methods and, with " +
		KeyPrivate + ", the gated ones"},
}

// String returns the tier's name.
func (t Tier) String() string { return tiers[min(t, PerUser)].name }

// Doc describes which callers are in the tier.
func (t Tier) Doc() string { return tiers[min(t, PerUser)].doc }
