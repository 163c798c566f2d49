package e5rt

import "time"

// Now returns the virtual time.
func (rt *Runtime) Now() time.Duration { return rt.clock.Now() }

// Fired returns a channel that is closed when the completion has fired or the timeout has broken a Wait.
func (b *Submission) Fired() <-chan struct{} { return b.fired }
