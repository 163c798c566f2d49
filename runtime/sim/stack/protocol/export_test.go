package protocol

// Bell is signalled when the ring has a message.
func (e *Endpoint) Bell() <-chan struct{} { return e.bell }

// TakeNotification is the host's side of Notify: the oldest notification.
func (c *Controller) TakeNotification() (*Message, bool) {
	m, ok, err := c.NextNotification()
	return m, ok && err == nil
}
