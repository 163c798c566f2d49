package driver

import (
	"crypto/ed25519"
	"crypto/sha256"
	"sync"
)

// signingKey is the key of the one process that signs programs, the broker's daemon, and the trust root of the driver.
// No source has the algorithm or the key; this one protects nothing, since everybody can read it.
var signingKey = sync.OnceValue(func() ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("the simulated machine's daemon"))
	return ed25519.NewKeyFromSeed(seed[:])
})

// Sign returns the daemon's signature of a container with this SHA-256.
func Sign(digest [32]byte) []byte { return ed25519.Sign(signingKey(), digest[:]) }

// signed reports whether a signature is the daemon's, of the container with this SHA-256.
func signed(digest [32]byte, signature []byte) bool {
	return ed25519.Verify(signingKey().Public().(ed25519.PublicKey), digest[:], signature)
}
