package reduce

// Text returns the candidate as MIL text.
func (c *Candidate) Text() *Text { return c.text }
