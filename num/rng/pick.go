package rng

// Pick returns the index of p at which the sum of its entries exceeds u, a number
// drawn from 0 to 1: a draw from p, whose entries sum to 1. An entry of 0 is never
// drawn. Rounding can leave u beyond the sum: the last entry that is not 0 is drawn
// then. It returns -1 if all are 0.
func Pick[F float32 | float64](p []F, u F) int32 {
	last := int32(-1)
	for k, q := range p {
		if q <= 0 {
			continue
		}
		last = int32(k)
		if u -= q; u < 0 {
			break
		}
	}
	return last
}
