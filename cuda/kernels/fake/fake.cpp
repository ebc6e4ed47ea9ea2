// A card that is none: kernels.cu compiled for the processor, behind the functions of NVIDIA's
// driver that hop calls. A block's threads take turns: each runs until all have to wait for one
// another. It is for tests, where there is no card; it is a thousand times slower than one.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <setjmp.h>
#include <ucontext.h>
#include <vector>

using std::max;
using std::min;

struct Place {
	unsigned x, y, z;
};
static Place threadIdx, blockIdx, gridDim;

struct float4 {
	float x, y, z, w;
};
static float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

static const int threads = 256;
static ucontext_t entry[threads];
static jmp_buf all[threads], block; // which switch faster than contexts
static int now;
static bool ended[threads];

static void __syncthreads() {
	if (!_setjmp(all[now])) _longjmp(block, 1);
}
static void __syncwarp() {}

#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(n)
#define __align__(n) __attribute__((aligned(n)))
#include "../kernels.cu"

typedef void (*Kernel)(C);

static const std::map<std::string, Kernel> kernels = {
	{"spread", spread},		  {"forward64", forward64},	  {"forward32", forward32},	  {"backward64", backward64}, {"backward32", backward32},
	{"gradient64", gradient64}, {"gradient32", gradient32}, {"loss", loss},			  {"fold", fold},			  {"adam", adam},
	{"asked", asked},		  {"few128", few128},		  {"few32", few32},			  {"answer", answer},
};

static Kernel kernel;
static Call argument;

static void thread() {
	kernel(argument);
	ended[now] = true;
	_longjmp(block, 1);
}

// run runs a block: every thread to its next barrier, until all have ended.
static void run() {
	static std::vector<char> stacks(threads << 16);
	for (int i = 0; i < threads; i++) {
		getcontext(&entry[i]);
		entry[i].uc_stack.ss_sp = &stacks[(size_t)i << 16];
		entry[i].uc_stack.ss_size = 1 << 16;
		entry[i].uc_link = nullptr;
		makecontext(&entry[i], thread, 0);
		ended[i] = false;
	}
	static bool more, first;
	for (first = more = true; more; first = false) {
		more = false;
		for (now = 0; now < threads; now++) {
			if (ended[now]) continue;
			threadIdx.x = now;
			if (!_setjmp(block)) {
				if (first) setcontext(&entry[now]);
				else _longjmp(all[now], 1);
			}
			more |= !ended[now];
		}
	}
}

typedef unsigned long long Address;

extern "C" {
int cuInit(unsigned) { return 0; }
int cuDeviceGet(int *d, int) { return *d = 0; }
int cuDeviceGetName(char *name, int len, int) {
	strncpy(name, "no card", len);
	return 0;
}
int cuDevicePrimaryCtxSetFlags_v2(int, unsigned) { return 0; }
int cuDevicePrimaryCtxRetain(void **, int) { return 0; }
int cuCtxSetCurrent(void *) { return 0; }
int cuStreamCreate(void **, unsigned) { return 0; }
int cuStreamSynchronize(void *) { return 0; }
int cuStreamQuery(void *) { return 0; }
int cuModuleLoadData(void **, const void *) { return 0; }
int cuModuleGetFunction(void **f, void *, const char *name) {
	auto at = kernels.find(name);
	if (at == kernels.end()) return 500;
	*f = (void *)at->second;
	return 0;
}
int cuMemAlloc_v2(Address *at, size_t n) {
	*at = (Address)malloc(n);
	memset((void *)*at, 0xff, n); // as memory of a card may hold anything
	return 0;
}
int cuMemFree_v2(Address at) {
	free((void *)at);
	return 0;
}
int cuMemHostAlloc(void **at, size_t n, unsigned) {
	*at = malloc(n);
	return 0;
}
int cuMemFreeHost(void *at) {
	free(at);
	return 0;
}
int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t n, void *) {
	memcpy((void *)to, from, n);
	return 0;
}
int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t n, void *) {
	memcpy(to, (void *)from, n);
	return 0;
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t n, void *) {
	memcpy((void *)to, (void *)from, n);
	return 0;
}
int cuMemsetD32Async(Address at, unsigned v, size_t n, void *) {
	std::fill_n((unsigned *)at, n, v);
	return 0;
}
typedef std::vector<std::pair<Kernel, std::pair<Place, Call>>> Graph;
static Graph *recording;

static int play(Kernel f, Place grid, const Call &c) {
	kernel = f, argument = c, gridDim = grid;
	for (blockIdx.z = 0; blockIdx.z < grid.z; blockIdx.z++)
		for (blockIdx.y = 0; blockIdx.y < grid.y; blockIdx.y++)
			for (blockIdx.x = 0; blockIdx.x < grid.x; blockIdx.x++) run();
	return 0;
}
int cuStreamBeginCapture_v2(void *, int) {
	recording = new Graph;
	return 0;
}
int cuStreamEndCapture(void *, void **g) {
	*g = recording, recording = nullptr;
	return 0;
}
int cuGraphInstantiateWithFlags(void **made, void *g, unsigned long long) {
	*made = new Graph(*(Graph *)g);
	return 0;
}
int cuGraphLaunch(void *g, void *) {
	for (auto &l : *(Graph *)g) play(l.first, l.second.first, l.second.second);
	return 0;
}
int cuGraphDestroy(void *g) {
	delete (Graph *)g;
	return 0;
}
int cuGraphExecDestroy(void *g) { return cuGraphDestroy(g); }
int cuLaunchKernel(void *f, unsigned x, unsigned y, unsigned z, unsigned, unsigned, unsigned, unsigned, void *, void **args, void **) {
	const Call &c = *(const Call *)args[0];
	if (x - 1 > 0x7ffffffe || y - 1 > 65534 || z - 1 > 65534) return 1;
	if (!recording) return play((Kernel)f, {x, y, z}, c);
	recording->push_back({(Kernel)f, {{x, y, z}, c}});
	return 0;
}
int cuGetErrorString(int code, const char **says) {
	*says = code == 500 ? "there is no such kernel" : code == 1 ? "invalid argument" : "it failed";
	return 0;
}
}
