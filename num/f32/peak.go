package f32

// PeakLoop runs iters rounds of independent multiply-adds that never leave the
// registers, with the active kernels' widest instructions, and returns how many
// floating-point operations that was. Divided by the time it took it is the most
// that one core can do.
func PeakLoop(iters int) (flops float64) {
	if iters <= 0 {
		return 0
	}
	return float64(iters) * peakLoop(iters)
}

// peakGeneric returns the operations per round: eight chains of one multiplication
// and one addition.
func peakGeneric(iters int) float64 {
	var s [8]float32
	s0, s1, s2, s3, s4, s5, s6, s7 := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
	x, y := float32(1), float32(0x1p-20)
	for range iters {
		s0 = float32(s0*x) + y
		s1 = float32(s1*x) + y
		s2 = float32(s2*x) + y
		s3 = float32(s3*x) + y
		s4 = float32(s4*x) + y
		s5 = float32(s5*x) + y
		s6 = float32(s6*x) + y
		s7 = float32(s7*x) + y
	}
	sink(s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7)
	return 16
}

//go:noinline
func sink(float32) {}
