package compare

// Size returns the bytes that the side holds, about: the pair and what its debug
// database lists. What of the model's weights the program refers to is not counted;
// it is read from their files.
func (s *Side) Size() int64 {
	n := int64(len(s.pair.Container) + len(s.pair.Descriptor))
	const node, extent = 48, 200 // bytes of one, about
	if s.db != nil {
		n += node*int64(len(s.db.Nodes)) + extent*int64(len(s.db.Extents))
	}
	return n
}
