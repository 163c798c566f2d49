package weights

import (
	"encoding/binary"
	"fmt"
)

// PackPaired packs a stride 1 depthwise kernel of one row for a task that computes two columns at a time (ConvCfg Ox =
// 2). Each channel has two copies of its bias if there is one, then, two fp16 numbers at a time, the taps that the even
// and the odd column of a pair apply to the same input:
//
//	b b  t0 0  t2 t1  t4 t3 ... t[n-1] t[n-2]  t1 t0  t3 t2 ... t[n-2] t[n-3]  0 t[n-1]
//
// so the input columns of one parity come first, then the columns of the other. Channels go to cores as in Pack.
// Recorded for nine taps with bias; other odd tap counts follow the same order (modelled), even ones are errors.
func (p *Plan) PackPaired(k *Kernel) ([]byte, [MaxCores]int, error) {
	var sizes [MaxCores]int
	if err := p.check(k); err != nil {
		return nil, sizes, err
	}
	n := k.Red()
	if p.Form != Depthwise || k.KH != 1 || n%2 == 0 {
		return nil, sizes, fmt.Errorf("weights: paired columns want a depthwise kernel of one row with an odd "+
			"number of taps, got %s %dx%d", p.Form, k.KH, k.KW)
	}
	var out []byte
	for c := range p.Cores {
		start := len(out)
		if k.Table != nil && c < p.Out {
			out = append(out, k.Table.Bytes()...)
		}
		lead := len(out)
		for ch := p.First + c; ch < p.First+p.Out; ch += p.Cores {
			if k.Bias != nil {
				out = binary.LittleEndian.AppendUint16(out, k.Bias[ch])
				out = binary.LittleEndian.AppendUint16(out, k.Bias[ch])
			}
			for parity := range 2 {
				for i := parity; i <= n; i += 2 {
					// Input column i is used by tap i of the even output column and tap i-1 of the odd one.
					out = appendTap(out, k.W, ch*n, n, i)
					out = appendTap(out, k.W, ch*n, n, i-1)
				}
			}
		}
		out = pad(out, lead)
		sizes[c] = len(out) - start
	}
	return out, sizes, nil
}

// appendTap appends tap i of the n that start at fp16 number at, or zero.
func appendTap(b, w []byte, at, n, i int) []byte {
	if i < 0 || i >= n {
		return append(b, 0, 0)
	}
	return append(b, w[2*(at+i)], w[2*(at+i)+1])
}
