package f32

// The AVX kernels are written by the program in asm, a module of its own so that
// hop does not depend on avo. After a change there run go generate in this folder
// and commit both files it writes.

//go:generate go -C asm run . -out ../kernels_amd64.s -stubs ../stubs_amd64.go -pkg f32
