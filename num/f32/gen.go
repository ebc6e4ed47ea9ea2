package f32

// The AVX kernels are written by the program in asm, a module of its own so that
// hop does not depend on avo. After a change there run go generate in this folder
// and commit the files it writes. Those for arm64 are written by its program neon,
// which has no avo.

//go:generate go -C asm run . -out ../kernels_amd64.s -stubs ../stubs_amd64.go -pkg f32
//go:generate go -C asm run ./broadcast ../kernels_amd64.s
//go:generate go -C asm run ./neon -out ../kernels_arm64.s -stubs ../stubs_arm64.go
