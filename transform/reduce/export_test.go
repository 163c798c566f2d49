package reduce

import "github.com/zinc-compiler/zinc/frontend/mil/unbuild"

// Text returns the candidate as MIL text.
func (c *Candidate) Text() *unbuild.Text { return c.text }
