package hwx

import "errors"

// Build gives the image addresses and a file layout. The File refers to the
// image's Text and Constants and does not copy them: write it before they change.
func Build(img *Image) (*File, *Addresses, error) { return nil, nil, errors.New("hwx: not built yet") }
