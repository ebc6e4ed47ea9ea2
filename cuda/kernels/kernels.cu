// The kernels that networks learn and act by on a graphics card: products of matrices and 3x3
// convolutions, forward and backward, PPO's loss, and Adam.
//
// Networks of one shape are computed side by side: block (x, y, z) works for network z / splits,
// whose numbers, of every kind, lie in one arena. Offsets into it are the same for all. Nothing
// is added up in an order that chance decides: a result is the same bytes in every run.
//
// Every kernel takes one Call, laid out as in kernels.go.

struct Call {
	float *const *arena;      // [networks]
	const int *rows;          // [networks] of the window, or that are asked about
	float *answers;           // to those that are asked about: logits, then the value
	long long x, y, w, b, dy; // a layer: its input, output, weights and biases, and the gradient of its output
	long long dx;             // where the gradient of its input goes
	long long g, gb;          // where those of its weights and biases go, [splits]
	int in, out;              // numbers, or channels, that it reads and writes
	int padded;               // numbers from one cell of its input to the next
	int ldx, ldy;             // numbers from one row of its input, and of its output, to the next
	int h, wide, taps;        // the cells of a 3x3 convolution and 9; of a dense layer 1, 1 and 1
	int act, before;          // its activation, and that of its input; 0: none, 1: ReLU, 2: tanh
	int splits;               // parts that the rows are cut into for gradients
	int minibatch, epochs, step;
	long long order, ptr, idx, val; // rows, as lists of nonzeros
	int flat, channels;       // so many of a row's numbers, of so many channels, go to x, the others to rest
	int apart, others, broad, first; // what else a column of an encoded row stands for: see frame.Frame.Apart
	int ldrest, tail;         // numbers from one row of rest to the next, and how many it has
	long long rest;
	long long action, logp, value, adv, ret, legal, dials, terms; // for the loss; dials: the bonus' weight, then Adam's rates
	float clip, worth;        // worth: weight of the value's loss
	int clipValue, blocks;    // blocks: of weights, whose squares are added up
	long long p, m, v, grad, squares, norms, failed; // for Adam
	int weights, spans;
	float eps, most;
	struct { int at, len, splits, unused; long long part; } span[24];
};

static_assert(sizeof(Call) == 944, "kernels.go lays it out as well");

typedef const Call C;

__device__ inline float *of(C &c, long long at) { return c.arena[blockIdx.z / c.splits] + at; }

// How many rows network z has in this step, and which is the first of the order.
__device__ inline int count(C &c, int *lo) {
	int n = c.rows[blockIdx.z / c.splits];
	int each = (n + c.minibatch - 1) / c.minibatch;
	if (n == 0 || c.step >= each * c.epochs) return 0;
	int at = c.step % each * c.minibatch;
	*lo = c.step / each * n + at;
	return min(c.minibatch, n - at);
}

__device__ inline float active(float x, int act) { return act == 1 ? fmaxf(x, 0) : act == 2 ? tanhf(x) : x; }
__device__ inline float slope(float y, int act) { return act == 1 ? (y > 0 ? 1.f : 0.f) : act == 2 ? 1 - y * y : 1.f; }

const int D = 32; // numbers of a row that are multiplied at a time

__device__ inline void add(float *sum, float x, const float4 &y) {
	sum[0] += x * y.x, sum[1] += x * y.y, sum[2] += x * y.z, sum[3] += x * y.w;
}

// product computes a tile of BM by BN numbers, each thread TM by 4 of them, over slabs of D. It
// fetches a slab while it multiplies the one before.
template <int BM, int BN, class A, class B, class Put> __device__ inline void product(int slabs, A &a, B &b, Put put) {
	const int TM = BM * BN / 1024;
	__shared__ __align__(16) float as[D][BM + 4], bs[D][BN + 4];
	int m = threadIdx.x / (BN / 4) * TM, n = threadIdx.x % (BN / 4) * 4;
	float sum[TM][4] = {};
	a.fetch();
	b.fetch();
	for (int s = 0; s < slabs; s++) {
		a.store(as);
		b.store(bs);
		__syncthreads();
		if (s + 1 < slabs) {
			a.fetch();
			b.fetch();
		}
#pragma unroll 8
		for (int k = 0; k < D; k++) {
			float4 y = *(const float4 *)&bs[k][n];
			if constexpr (TM == 1) add(sum[0], as[k][m], y);
			else
#pragma unroll
			for (int i = 0; i < TM; i += 4) {
				float4 x = *(const float4 *)&as[k][m + i];
				add(sum[i], x.x, y), add(sum[i + 1], x.y, y), add(sum[i + 2], x.z, y), add(sum[i + 3], x.w, y);
			}
		}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < TM; i++) put(m + i, n, sum[i]);
}

// four reads numbers one after the other, of which so many are there.
__device__ inline float4 four(const float *x, int there, bool aligned) {
	if (there >= 4 && aligned) return *(const float4 *)x;
	return make_float4(there > 0 ? x[0] : 0, there > 1 ? x[1] : 0, there > 2 ? x[2] : 0, there > 3 ? x[3] : 0);
}

__device__ inline int up(int n) { return (n + 3) / 4 * 4; }

// Over divides whole numbers by one of them, of which the result is below 2^20.
struct Over {
	int by;
	float inverse;
	__device__ Over(int by) : by(by), inverse(1.f / by) {}
	__device__ int operator()(int a) const {
		int q = (int)(a * inverse); // which may be off by one
		q -= q * by > a;
		return q + (a - q * by >= by);
	}
};

// Tap is where in the inputs of a convolution four numbers are that are multiplied together:
// neighbour after neighbour, each of so many numbers; of a dense layer there is one.
struct Tap {
	int at, n, width;

	__device__ Tap(int from, int width) : at(from), n(0), width(width) { settle(); }
	__device__ void settle() {
		while (at >= width) at -= width, n++;
	}
	__device__ void next() {
		at += D;
		settle();
	}
};

// Rows reads rows, or cells of them with their neighbours, D numbers at a time: eight threads a row.
template <int BM> struct Rows {
	static const int N = BM / 32;
	const float *x;
	int h, wide, padded, width, taps, step, from[N], i[N], j[N];
	Tap tap;
	float4 v[N];

	// step is 1 for neighbours from the first to the last, -1 for the other way.
	__device__ Rows(C &c, const float *x, int rows, int ld, int padded, int width, int step)
		: x(x), h(c.h), wide(c.wide), padded(padded), width(width), taps(c.taps), step(step), tap(threadIdx.x % 8 * 4, up(width)) {
		Over per(h * wide), line(wide);
#pragma unroll
		for (int r = 0; r < N; r++) {
			int m = blockIdx.x * BM + threadIdx.x / 8 + r * 32, row = per(m), cell = m - row * h * wide;
			i[r] = row < rows ? line(cell) : -9;
			j[r] = cell - line(cell) * wide;
			from[r] = row * ld + cell * padded;
		}
	}
	__device__ void fetch() {
		int di = 0, dj = 0;
		if (taps == 9) di = (tap.n / 3 - 1) * step, dj = (tap.n % 3 - 1) * step;
		bool some = tap.n < taps;
#pragma unroll
		for (int r = 0; r < N; r++) {
			int y = i[r] + di, z = j[r] + dj;
			v[r] = make_float4(0, 0, 0, 0);
			if (some && y >= 0 && y < h && z >= 0 && z < wide) v[r] = *(const float4 *)(x + from[r] + (di * wide + dj) * padded + tap.at);
		}
		tap.next();
	}
	__device__ void store(float s[D][BM + 4]) {
		int k = threadIdx.x % 8 * 4;
#pragma unroll
		for (int r = 0; r < N; r++) {
			int m = threadIdx.x / 8 + r * 32;
			s[k][m] = v[r].x, s[k + 1][m] = v[r].y, s[k + 2][m] = v[r].z, s[k + 3][m] = v[r].w;
		}
	}
};

// Weights reads [taps][in][out], D inputs at a time: BN / 4 threads an input.
template <int BN> struct Weights {
	static const int K = 1024 / BN, N = D / K; // inputs at a time
	const float *w;
	int in, out, taps, n;
	bool aligned;
	Tap tap;
	float4 v[N];

	__device__ Weights(C &c, const float *w)
		: w(w), in(c.in), out(c.out), taps(c.taps), n(blockIdx.y * BN + threadIdx.x % (BN / 4) * 4), aligned(c.out % 4 == 0),
		  tap(threadIdx.x / (BN / 4), up(c.in)) {}
	__device__ void fetch() {
		Tap t = tap;
#pragma unroll
		for (int r = 0; r < N; r++) {
			bool there = t.n < taps && t.at < in;
			v[r] = four(w + ((long long)t.n * in + t.at) * out + n, there ? out - n : 0, aligned);
			t.at += K;
			t.settle();
		}
		tap.next();
	}
	__device__ void store(float s[D][BN + 4]) {
#pragma unroll
		for (int r = 0; r < N; r++) *(float4 *)&s[threadIdx.x / (BN / 4) + r * K][threadIdx.x % (BN / 4) * 4] = v[r];
	}
};

// Turned reads the same [taps][in][out] as rows of outputs, D outputs at a time: eight threads an input.
template <int BN> struct Turned {
	static const int N = BN / 32;
	const float *w;
	int in, out, taps;
	bool aligned;
	Tap tap;
	float4 v[N];

	__device__ Turned(C &c, const float *w)
		: w(w), in(c.in), out(c.out), taps(c.taps), aligned(c.out % 4 == 0), tap(threadIdx.x % 8 * 4, up(c.out)) {}
	__device__ void fetch() {
#pragma unroll
		for (int r = 0; r < N; r++) {
			int n = blockIdx.y * BN + threadIdx.x / 8 + r * 32;
			bool there = tap.n < taps && n < in;
			v[r] = four(w + ((long long)tap.n * in + n) * out + tap.at, there ? out - tap.at : 0, aligned);
		}
		tap.next();
	}
	__device__ void store(float s[D][BN + 4]) {
		int k = threadIdx.x % 8 * 4;
#pragma unroll
		for (int r = 0; r < N; r++) {
			int n = threadIdx.x / 8 + r * 32;
			s[k][n] = v[r].x, s[k + 1][n] = v[r].y, s[k + 2][n] = v[r].z, s[k + 3][n] = v[r].w;
		}
	}
};

// Columns reads numbers of many cells, those from at on, D cells at a time, BM / 4 threads a cell: of
// a layer's input with its neighbours, where there are taps, or of its output.
template <int BM> struct Columns {
	static const int K = 1024 / BM, N = D / K; // cells at a time
	const float *x;
	int ld, h, wide, padded, k, to, di, dj, n;
	bool ones; // the column after the last is 1 everywhere: its product is the bias' gradient
	Over per, line;
	float4 v[N];

	// width is a multiple of 4.
	__device__ Columns(C &c, const float *x, int ld, int padded, int at, int width, int taps, int from, int to)
		: x(x), ld(ld), h(c.h), wide(c.wide), padded(padded), k(from + threadIdx.x / (BM / 4)), to(to), di(0), dj(0),
		  n(at + threadIdx.x % (BM / 4) * 4), per(c.h * c.wide), line(c.wide) {
		int tap = n / width;
		ones = n == taps * width;
		if (tap >= taps) n = -1;
		else n -= tap * width;
		if (taps == 9) di = tap / 3 - 1, dj = tap % 3 - 1;
	}
	__device__ void fetch() {
#pragma unroll
		for (int r = 0; r < N; r++) {
			int at = k + r * K, row = per(at), cell = at - row * h * wide, i = line(cell), j = cell - i * wide + dj;
			i += di;
			v[r] = make_float4(0, 0, 0, 0);
			if (n >= 0 && at < to && i >= 0 && i < h && j >= 0 && j < wide)
				v[r] = *(const float4 *)(x + (long long)row * ld + (i * wide + j) * padded + n);
			if (ones && at < to) v[r].x = 1;
		}
		k += D;
	}
	__device__ void store(float s[D][BM + 4]) {
#pragma unroll
		for (int r = 0; r < N; r++) *(float4 *)&s[threadIdx.x / (BM / 4) + r * K][threadIdx.x % (BM / 4) * 4] = v[r];
	}
};

// lay writes a row's list of so many nonzeros to where the first layer reads it, a warp each.
__device__ inline void lay(C &c, int row, bool in, const int *idx, const float *val, int many) {
	int lane = threadIdx.x % 32;
	float *x = of(c, c.x) + (long long)row * c.ldx, *rest = of(c, c.rest) + (long long)row * c.ldrest;
	if (in) {
		for (int i = lane; i < c.ldx; i += 32) x[i] = 0;
		for (int i = lane; i < c.tail; i += 32) rest[i] = 0;
	}
	__syncthreads();
	if (!in) return;
	for (int k = 0; k < many; k += 32) {
		int left = many - k, at = lane < left ? idx[k + lane] : 0, cell = at / c.others, thing = at % c.others;
		float v = lane < left ? val[k + lane] : 0, *to = at < c.flat ? x + at / c.channels * c.padded + at % c.channels : rest + at - c.flat;
		float *row = x + c.first + cell / c.broad * c.others + thing;
		float *column = x + c.first + (c.apart / (c.others * c.broad) + cell % c.broad) * c.others + thing;
		for (int turn = 0; turn < min(left, 32); turn++) { // a column may come twice
			if (turn == lane) {
				*to += v;
				if (at < c.apart) *row += v, *column += v;
			}
			__syncwarp();
		}
	}
}

// Spread lays out the rows of the window that are picked. A block lays out eight rows.
extern "C" __global__ void spread(C c) {
	int lo, n = count(c, &lo), row = blockIdx.x * 8 + threadIdx.x / 32;
	bool in = row < n;
	const int *ptr = (const int *)of(c, c.ptr) + (in ? ((const int *)of(c, c.order))[lo + row] : 0);
	int from = in ? ptr[0] : 0;
	lay(c, row, in, (const int *)of(c, c.idx) + from, of(c, c.val) + from, in ? ptr[1] - from : 0);
}

// How many of the rows that are asked about lie ahead of the network's.
__device__ inline int ahead(C &c) { return c.rows[gridDim.z + blockIdx.z]; }

// Asked lays out the rows that are asked about. They come in one piece, after how many each network has and how
// many lie ahead of them: how many nonzeros and rows there are, where each row's begin, their columns, and what is there.
extern "C" __global__ void asked(C c) {
	int lo, n = count(c, &lo), row = blockIdx.x * 8 + threadIdx.x / 32;
	bool in = row < n;
	const int *list = c.rows + 2 * gridDim.z, *ptr = list + 2 + (in ? ahead(c) + row : 0), *idx = list + 3 + list[1];
	int from = in ? ptr[0] : 0;
	lay(c, row, in, idx + from, (const float *)(idx + list[0]) + from, in ? ptr[1] - from : 0);
}

// Answer computes the last layer of the rows that are asked about, a row a warp, in the order of product.
extern "C" __global__ void answer(C c) {
	int lo, n = count(c, &lo), row = blockIdx.x * 8 + threadIdx.x / 32;
	if (row >= n) return;
	const float *x = of(c, c.x) + (long long)row * c.ldx, *w = of(c, c.w), *b = of(c, c.b);
	float *to = c.answers + (long long)(ahead(c) + row) * c.out;
	for (int k = threadIdx.x % 32; k < c.out; k += 32) {
		float sum = 0;
#pragma unroll 16
		for (int i = 0; i < c.in; i++) sum += x[i] * w[i * c.out + k];
		to[k] = active(sum + b[k], c.act);
	}
}

template <int BM, int BN> __device__ inline void forward(C &c) {
	int lo, rows = count(c, &lo), cells = c.h * c.wide;
	if (blockIdx.x * BM >= rows * cells) return;
	Rows<BM> a(c, of(c, c.x), rows, c.ldx, c.padded, c.in, 1);
	Weights<BN> b(c, of(c, c.w));
	const float *bias = of(c, c.b);
	float *y = of(c, c.y);
	Over per(cells);
	product<BM, BN>((c.taps * up(c.in) + D - 1) / D, a, b, [&](int i, int j, const float *v) {
		int m = blockIdx.x * BM + i, row = per(m), n = blockIdx.y * BN + j;
		if (row >= rows) return;
		float *to = y + (long long)row * c.ldy + (m - row * cells) * c.out;
#pragma unroll
		for (int k = 0; k < 4; k++)
			if (n + k < c.out) to[n + k] = active(v[k] + bias[n + k], c.act);
	});
}

// Backward computes the gradient of the input, before its activation.
template <int BM, int BN> __device__ inline void backward(C &c) {
	int lo, rows = count(c, &lo), cells = c.h * c.wide;
	if (blockIdx.x * BM >= rows * cells) return;
	Rows<BM> a(c, of(c, c.dy), rows, c.ldy, c.out, c.out, -1);
	Turned<BN> b(c, of(c, c.w));
	const float *x = of(c, c.x);
	float *dx = of(c, c.dx);
	Over per(cells);
	product<BM, BN>((c.taps * up(c.out) + D - 1) / D, a, b, [&](int i, int j, const float *v) {
		int m = blockIdx.x * BM + i, row = per(m), n = blockIdx.y * BN + j;
		if (row >= rows) return;
		long long to = (long long)row * c.ldx + (m - row * cells) * c.padded;
#pragma unroll
		for (int k = 0; k < 4; k++)
			if (n + k < c.in) dx[to + n + k] = v[k] * slope(x[to + n + k], c.before);
	});
}

// Gradient computes those of the weights and biases, a part of the rows each.
template <int BM, int BN> __device__ inline void gradient(C &c) {
	int lo, rows = count(c, &lo), cells = c.h * c.wide, part = blockIdx.z % c.splits;
	int each = (c.minibatch + c.splits - 1) / c.splits, from = min(part * each, rows), to = min(from + each, rows);
	if (rows == 0) return;
	const float *dy = of(c, c.dy);
	int width = up(c.in), in = c.in, out = c.out, taps = c.taps;
	Columns<BM> a(c, of(c, c.x), c.ldx, c.padded, blockIdx.x * BM, width, taps, from * cells, to * cells);
	Columns<BN> b(c, dy, c.ldy, c.out, blockIdx.y * BN, up(out), 1, from * cells, to * cells);
	float *g = of(c, c.g) + (long long)part * taps * in * out, *gb = of(c, c.gb) + (long long)part * out;
	product<BM, BN>(((to - from) * cells + D - 1) / D, a, b, [&](int i, int j, const float *v) {
		int m = blockIdx.x * BM + i, n = blockIdx.y * BN + j, tap = m / width, at = m - tap * width;
		if (tap > taps || at >= (tap < taps ? in : 1)) return;
		float *to = tap < taps ? g + ((long long)tap * in + at) * out : gb;
#pragma unroll
		for (int k = 0; k < 4; k++)
			if (n + k < out) to[n + k] = v[k];
	});
}

#define KERNEL extern "C" __global__ void __launch_bounds__(256)
KERNEL forward64(C c) { forward<64, 64>(c); }
KERNEL forward32(C c) { forward<256, 32>(c); }
KERNEL few128(C c) { forward<128, 32>(c); } // of few rows: more blocks, each of less, and the same numbers
KERNEL few32(C c) { forward<32, 32>(c); }
KERNEL backward64(C c) { backward<64, 64>(c); }
KERNEL backward32(C c) { backward<256, 32>(c); }
KERNEL gradient64(C c) { gradient<64, 64>(c); }
KERNEL gradient32(C c) { gradient<128, 32>(c); }

const float never = -1e30f;

// Loss writes the gradients of PPO's loss by the outputs (y: logits, then the value) of a row a
// thread, and the sums of its terms, a block's after the other, to terms.
extern "C" __global__ void loss(C c) {
	int lo, n = count(c, &lo), row = blockIdx.x * 256 + threadIdx.x, k = c.out - 1;
	double term[6] = {0, 0, 0, 0, 0, 0};
	if (row < n) {
		int from = ((const int *)of(c, c.order))[lo + row], action = ((const int *)of(c, c.action))[from];
		const float *y = of(c, c.y) + (long long)row * c.ldy;
		const unsigned char *legal = (const unsigned char *)of(c, c.legal) + (long long)from * k;
		float *dy = of(c, c.dy) + (long long)row * c.ldy, top = never, sum = 0, unit = 1.f / n;
		for (int a = 0; a < k; a++)
			if (legal[a]) top = fmaxf(top, y[a]);
		for (int a = 0; a < k; a++)
			if (legal[a]) sum += expf(y[a] - top);
		float all = top + logf(sum), h = 0, adv = of(c, c.adv)[from];
		for (int a = 0; a < k; a++)
			if (legal[a]) h -= expf(y[a] - all) * (y[a] - all);
		float logratio = y[action] - all - of(c, c.logp)[from], ratio = expf(logratio);
		float held = fminf(fmaxf(ratio, 1 - c.clip), 1 + c.clip), policy = -ratio * adv, dlogp = policy;
		if (-held * adv > policy) policy = -held * adv, dlogp = 0;
		dlogp *= unit;
		float bonus = -of(c, c.dials)[0] * unit;
		for (int a = 0; a < k; a++) {
			float lp = y[a] - all;
			dy[a] = (legal[a] ? -expf(lp) * (dlogp + bonus * h + bonus * lp) : 0) + (a == action ? dlogp : 0);
		}
		float v = y[k], ret = of(c, c.ret)[from], old = of(c, c.value)[from], e = v - ret, dv = e, cost = e * e;
		float kept = fminf(fmaxf(v - old, -c.clip), c.clip);
		if (c.clipValue && kept != v - old) {
			float other = old + kept - ret;
			if (other * other > cost) cost = other * other, dv = 0;
		}
		dy[k] = c.worth * unit * dv;
		term[0] = policy, term[1] = cost / 2, term[2] = h, term[3] = ratio - 1 - logratio, term[4] = held != ratio, term[5] = 1;
	}
	__shared__ double sums[256];
	for (int i = 0; i < 6; i++) {
		sums[threadIdx.x] = term[i];
		__syncthreads();
		for (int d = 128; d > 0; d /= 2) {
			if (threadIdx.x < d) sums[threadIdx.x] += sums[threadIdx.x + d];
			__syncthreads();
		}
		if (threadIdx.x == 0) ((double *)of(c, c.terms))[((long long)c.step * gridDim.x + blockIdx.x) * 6 + i] = sums[0];
		__syncthreads();
	}
}

const int span = 2048; // weights of a block of adam; of fold they are 256

// Fold adds up the parts of the gradient, and its squares, a block's after the other.
extern "C" __global__ void fold(C c) {
	int lo, n = count(c, &lo);
	if (n == 0 || *(const int *)of(c, c.failed)) return;
	int i = blockIdx.x * 256 + threadIdx.x;
	float sum = 0;
	for (int s = 0; s < c.spans; s++) {
		int at = i - c.span[s].at, len = c.span[s].len, splits = c.span[s].splits;
		if (at < 0 || at >= len) continue;
		const float *part = of(c, c.span[s].part) + at;
#pragma unroll 8
		for (int j = 0; j < splits; j++) sum += part[(long long)j * len];
		break;
	}
	if (i < c.weights) of(c, c.grad)[i] = sum;
	double square = (double)sum * sum;
	__shared__ double sums[256];
	sums[threadIdx.x] = square;
	__syncthreads();
	for (int d = 128; d > 0; d /= 2) {
		if (threadIdx.x < d) sums[threadIdx.x] += sums[threadIdx.x + d];
		__syncthreads();
	}
	if (threadIdx.x == 0) ((double *)of(c, c.squares))[blockIdx.x] = sums[0];
}

// Adam takes its step with a gradient of at most a norm, unless the gradient is not finite: then
// no weight moves any more, and the step is noted.
extern "C" __global__ void adam(C c) {
	int lo, n = count(c, &lo);
	if (n == 0) return;
	int *failed = (int *)of(c, c.failed);
	if (failed[0] && failed[0] != c.step + 1) return;
	__shared__ double sums[256];
	double sum = 0;
	for (int i = threadIdx.x; i < c.blocks; i += 256) sum += ((const double *)of(c, c.squares))[i];
	sums[threadIdx.x] = sum;
	__syncthreads();
	for (int d = 128; d > 0; d /= 2) {
		if (threadIdx.x < d) sums[threadIdx.x] += sums[threadIdx.x + d];
		__syncthreads();
	}
	double norm = sqrt(sums[0]);
	if (blockIdx.x == 0 && threadIdx.x == 0) ((double *)of(c, c.norms))[c.step] = norm;
	if (!(norm < 1e300)) {
		if (threadIdx.x == 0) failed[0] = c.step + 1; // whichever block is first: they all say the same
		return;
	}
	float scale = c.most > 0 && norm > c.most ? (float)(c.most / norm) : 1;
	const float *rate = of(c, c.dials) + 1 + 2 * c.step, *grad = of(c, c.grad);
	float *p = of(c, c.p), *m = of(c, c.m), *v = of(c, c.v), lrc1 = rate[0], c2 = rate[1];
	const float b1 = 0.9f, b1c = (float)(1 - (double)b1), b2 = 0.999f, b2c = (float)(1 - (double)b2);
	for (int i = blockIdx.x * span + threadIdx.x; i < min((int)(blockIdx.x + 1) * span, c.weights); i += 256) {
		float g = grad[i] * scale;
		m[i] = b1 * m[i] + b1c * g;
		v[i] = b2 * v[i] + b2c * g * g;
		p[i] -= lrc1 * m[i] / (sqrtf(c2 * v[i]) + c.eps);
	}
}
