// Command broadcast has the AVX-512 kernels of a file read one number of a constant in place of
// a whole vector, which is as fast. The linker puts constants at multiples of 32 bytes: a vector
// of 64 straddles two lines of the cache wherever chance puts it at an odd one, and exp then takes
// a quarter longer. Avo, which writes that file, ends the program when it has.
package main

import (
	"fmt"
	"os"
	"regexp"
)

var (
	constant = regexp.MustCompile(`(?m)^\t(V[A-Z0-9]+)( +.*\bc_\w+<>\+0\(SB\).*\bZ\d+.*)$`)
	load     = regexp.MustCompile(`(?m)^\tVMOVUPS\.BCST `)
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		text = constant.ReplaceAll(text, []byte("\t$1.BCST$2"))
		text = load.ReplaceAll(text, []byte("\tVBROADCASTSS "))
		err = os.WriteFile(os.Args[1], text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
