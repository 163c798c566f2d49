// Package locked reads variables that a lock guards.
package locked

import "sync"

// Get returns the value of a variable that the lock guards.
func Get[T any](mu sync.Locker, v *T) T {
	mu.Lock()
	defer mu.Unlock()
	return *v
}
