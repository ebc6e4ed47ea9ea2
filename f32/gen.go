package f32

//go:generate go -C asm run . -out ../kernels_amd64.s -stubs ../stubs_amd64.go -pkg f32
