package compare

// Size returns the approximate memory of the side in bytes: the pair and its debug database. The model's weights are
// not counted, since they are read from their files.
func (s *Side) Size() int64 {
	n := int64(len(s.pair.Container) + len(s.pair.Descriptor))
	const node, extent = 48, 200 // bytes of one, about
	if s.db != nil {
		n += node*int64(len(s.db.Nodes)) + extent*int64(len(s.db.Extents))
	}
	return n
}
