package rng

// Raw returns the stream whose state is the two numbers. It is for streams named
// by numbers that are themselves well mixed, such as a hash or draws of another
// stream; name all others by a Key.
func Raw(hi, lo uint64) Rand { return Rand{hi, lo} }
