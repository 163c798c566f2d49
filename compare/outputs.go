package compare

import "context"

func (p *pairing) outputs(ctx context.Context, o Options) ([]*Change, error) { return nil, nil }
