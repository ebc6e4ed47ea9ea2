// Package driver calls the library of NVIDIA's driver, which it opens when it is asked to: neither
// cgo nor a toolkit is needed to build a program with it, nor a card to start one.
//
// What is enqueued runs in its order on the one stream of a Card. A Card is for one goroutine, which
// has locked itself to its thread (runtime.LockOSThread).
package driver

import (
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Library is the driver's, as systems with a card name it.
const Library = "libcuda.so.1"

// Address is one of a card's memory.
type Address uint64

// Kernel is a function that runs on the card.
type Kernel uintptr

// Graph is launches that were recorded, one after the other.
type Graph uintptr

// Card is an open card.
type Card struct {
	Name   string
	call   map[string]uintptr
	stream uintptr
	module uintptr
	args   [2]unsafe.Pointer // of a launch
	argv   [11]uintptr       // of a call
}

// functions are those that are called.
var functions = []string{
	"cuInit", "cuDeviceGet", "cuDeviceGetName", "cuDevicePrimaryCtxSetFlags_v2", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent",
	"cuStreamCreate",
	"cuStreamSynchronize", "cuStreamQuery", "cuModuleLoadData", "cuModuleGetFunction", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc",
	"cuMemFreeHost", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemsetD32Async",
	"cuLaunchKernel", "cuGetErrorString", "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags",
	"cuGraphLaunch", "cuGraphDestroy", "cuGraphExecDestroy",
}

// Open opens the first card that a library knows, with a program in PTX.
func Open(library string, ptx []byte) (*Card, error) {
	lib, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("there is no driver of an NVIDIA card on this machine (%s cannot be opened)", library)
	}
	c := &Card{call: map[string]uintptr{}}
	for _, name := range functions {
		if c.call[name], err = purego.Dlsym(lib, name); err != nil {
			return nil, fmt.Errorf("the driver in %s is too old: it has no %s", library, name)
		}
	}
	if err := c.do("cuInit", 0); err != nil {
		return nil, fmt.Errorf("there is a driver but no card that it can use: %w", err)
	}
	var device int32
	var context uintptr
	name := make([]byte, 128)
	if err := c.do("cuDeviceGet", ptr(&device), 0); err != nil {
		return nil, fmt.Errorf("there is a driver but no card: %w", err)
	}
	ptx = append(ptx[:len(ptx):len(ptx)], 0)
	steps := []func() error{
		func() error { return c.do("cuDeviceGetName", ptr(&name[0]), uintptr(len(name)), uintptr(device)) },
		func() error { return c.do("cuDevicePrimaryCtxSetFlags_v2", uintptr(device), sleeps) },
		func() error { return c.do("cuDevicePrimaryCtxRetain", ptr(&context), uintptr(device)) },
		func() error { return c.do("cuCtxSetCurrent", context) },
		func() error { return c.do("cuStreamCreate", ptr(&c.stream), 1) }, // which does not wait for the default one
		func() error { return c.do("cuModuleLoadData", ptr(&c.module), ptr(&ptx[0])) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	c.Name = text(ptr(&name[0]))
	return c, nil
}

// sleeps lets Wait leave the core to others.
const sleeps = 4

// ptr is the address of a value as an argument. The value must live until the call has returned, and
// stay where it is: what might be kept is not on a stack, which moves when it grows.
func ptr[T any](v *T) uintptr {
	if keeps {
		kept = v
	}
	return uintptr(unsafe.Pointer(v))
}

var (
	keeps bool // never true
	kept  any
)

// text reads a string of C.
func text(at uintptr) string {
	var b []byte
	for at != 0 && len(b) < 256 {
		ch := **(**byte)(unsafe.Pointer(&at))
		if ch == 0 {
			break
		}
		b, at = append(b, ch), at+1
	}
	return string(b)
}

// ask calls a function of the driver, and returns its code.
func (c *Card) ask(name string, args ...uintptr) uintptr {
	n := copy(c.argv[:], args) // which SyscallN would have on the heap
	code, _, _ := purego.SyscallN(c.call[name], c.argv[:n]...)
	return code
}

// do calls a function of the driver, which is to work.
func (c *Card) do(name string, args ...uintptr) error {
	code := c.ask(name, args...)
	if code == 0 {
		return nil
	}
	var says uintptr
	purego.SyscallN(c.call["cuGetErrorString"], code, ptr(&says))
	return fmt.Errorf("%s: %s (%d)", name, text(says), code)
}

// Kernel returns the kernel of that name.
func (c *Card) Kernel(name string) (k Kernel, err error) {
	b := append([]byte(name), 0)
	return k, c.do("cuModuleGetFunction", ptr(&k), c.module, ptr(&b[0]))
}

// Alloc returns memory of the card for so many bytes, all zero.
func (c *Card) Alloc(bytes int) (at Address, err error) {
	if err := c.do("cuMemAlloc_v2", ptr(&at), uintptr(bytes)); err != nil {
		return 0, fmt.Errorf("the card has no %d MB left: %w", bytes>>20, err)
	}
	return at, c.Zero(at, bytes)
}

// Free gives memory back.
func (c *Card) Free(at Address) error { return c.do("cuMemFree_v2", uintptr(at)) }

// Zero clears bytes, a multiple of 4.
func (c *Card) Zero(at Address, bytes int) error {
	return c.do("cuMemsetD32Async", uintptr(at), 0, uintptr(bytes/4), c.stream)
}

// Pinned returns memory of this machine that the card can read and write while other things run.
func (c *Card) Pinned(bytes int) ([]byte, error) {
	var at uintptr
	if err := c.do("cuMemHostAlloc", ptr(&at), uintptr(bytes), 0); err != nil {
		return nil, err
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), bytes), nil
}

// Unpin gives what Pinned returned back.
func (c *Card) Unpin(b []byte) error { return c.do("cuMemFreeHost", ptr(&b[0])) }

// Upload enqueues copying pinned bytes to the card.
func (c *Card) Upload(to Address, b []byte) error {
	return c.do("cuMemcpyHtoDAsync_v2", uintptr(to), ptr(&b[0]), uintptr(len(b)), c.stream)
}

// Download enqueues copying to pinned bytes.
func (c *Card) Download(b []byte, from Address) error {
	return c.do("cuMemcpyDtoHAsync_v2", ptr(&b[0]), uintptr(from), uintptr(len(b)), c.stream)
}

// Copy enqueues copying within the card.
func (c *Card) Copy(to, from Address, bytes int) error {
	return c.do("cuMemcpyDtoDAsync_v2", uintptr(to), uintptr(from), uintptr(bytes), c.stream)
}

// Wait returns when all that was enqueued is done.
func (c *Card) Wait() error { return c.do("cuStreamSynchronize", c.stream) }

// Watch is Wait for what is done sooner than one has slept: at first it keeps the core.
func (c *Card) Watch() error {
	const (
		looks = 2000 // some milliseconds
		busy  = 600
	)
	for range looks {
		if c.ask("cuStreamQuery", c.stream) != busy {
			break
		}
	}
	return c.Wait()
}

// Launch enqueues a kernel over a grid of blocks of 256 threads; call is its one argument.
func (c *Card) Launch(k Kernel, grid [3]int, call unsafe.Pointer) error {
	c.args[0] = call
	return c.do("cuLaunchKernel", uintptr(k), uintptr(grid[0]), uintptr(grid[1]), uintptr(grid[2]), 256, 1, 1, 0, c.stream,
		uintptr(unsafe.Pointer(&c.args[0])), 0)
}

// Record returns what launch launches, which is not run: as a graph it takes less each time.
func (c *Card) Record(launch func() error) (g Graph, err error) {
	if err := c.do("cuStreamBeginCapture_v2", c.stream, 1); err != nil {
		return 0, err
	}
	err = launch()
	var recorded uintptr
	if end := c.do("cuStreamEndCapture", c.stream, ptr(&recorded)); err == nil {
		err = end
	}
	if err == nil {
		err = c.do("cuGraphInstantiateWithFlags", ptr(&g), recorded, 0)
	}
	if err != nil {
		return 0, err
	}
	return g, c.do("cuGraphDestroy", recorded)
}

// Run enqueues a graph.
func (c *Card) Run(g Graph) error { return c.do("cuGraphLaunch", uintptr(g), c.stream) }

// Forget gives a graph's memory back.
func (c *Card) Forget(g Graph) error { return c.do("cuGraphExecDestroy", uintptr(g)) }
