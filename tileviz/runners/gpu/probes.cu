// Kernels that measure the measuring: an empty launch, a bounded spin, the clock, and the cycles of
// one shared-memory access pattern. Compiled for the device like any other text.

__device__ __forceinline__ unsigned long long now_ns() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

extern "C" __global__ void probe_empty() {}

// Holds the stream while the host queues what follows. Bounded by its count too: a timer that
// stands still cannot make it hang.
extern "C" __global__ void probe_spin(unsigned long long ns) {
  unsigned long long start = now_ns();
  for (unsigned i = 0; i < (1u << 20) && now_ns() - start < ns; ++i) {}
}

// cycles and nanoseconds of the same stretch: the clock of this multiprocessor under load.
extern "C" __global__ void probe_clock(unsigned long long* out, unsigned long long ns) {
  unsigned long long start = now_ns();
  long long first = clock64();
  unsigned long long end = start;
  for (unsigned i = 0; i < (1u << 20) && end - start < ns; ++i) end = now_ns();
  long long last = clock64();
  if (threadIdx.x == 0) {
    out[0] = (unsigned long long)(last - first);
    out[1] = end - start;
  }
}

constexpr unsigned kInactive = 0xFFFFFFFFu;
constexpr int kRepeats = 8, kLoops = 32, kUnroll = 8, kWords = 4096;

// One warp a scheduler executes the same access pattern again and again. where[lane] is a byte
// address in shared memory, or kInactive. Each thread leaves its fastest repeat of 256 accesses.
template <class Access>
__device__ __forceinline__ void count_cycles(unsigned long long* cycles, unsigned* sink,
                                             const unsigned* where, Access access) {
  __shared__ __align__(128) unsigned words[kWords];
  for (int i = threadIdx.x; i < kWords; i += blockDim.x) words[i] = where[i % 32];
  unsigned offset = where[threadIdx.x % 32];
  unsigned address = (unsigned)__cvta_generic_to_shared(words) + offset;
  unsigned acc[kUnroll] = {};
  long long best = 1ll << 62;
#pragma unroll 1
  for (int r = 0; r < kRepeats; ++r) {
    __syncthreads();
    if (offset != kInactive) {
      long long start = clock64();
#pragma unroll 1
      for (int i = 0; i < kLoops; ++i) {
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) access(address, acc[u]);
      }
      long long end = clock64();
      if (end - start < best) best = end - start;
    }
  }
  unsigned sum = 0;
  for (int u = 0; u < kUnroll; ++u) sum += acc[u];
  sink[threadIdx.x] = sum;
  cycles[threadIdx.x] = offset == kInactive ? 0ull : (unsigned long long)best;
}

#define PROBE(NAME, ...)                                                                       \
  extern "C" __global__ void probe_##NAME(unsigned long long* cycles, unsigned* sink,          \
                                          const unsigned* where) {                             \
    count_cycles(cycles, sink, where, [](unsigned a, unsigned& acc) { __VA_ARGS__ });          \
  }

// clang-format off
PROBE(ld_1, unsigned v; asm volatile("ld.volatile.shared.u8 %0, [%1];" : "=r"(v) : "r"(a) : "memory"); acc += v;)
PROBE(ld_2, unsigned v; asm volatile("ld.volatile.shared.u16 %0, [%1];" : "=r"(v) : "r"(a) : "memory"); acc += v;)
PROBE(ld_4, unsigned v; asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v) : "r"(a) : "memory"); acc += v;)
PROBE(ld_8, unsigned v, w; asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v), "=r"(w) : "r"(a) : "memory"); acc += v ^ w;)
PROBE(ld_16, unsigned v, w, x, y; asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v), "=r"(w), "=r"(x), "=r"(y) : "r"(a) : "memory"); acc += v ^ w ^ x ^ y;)
PROBE(st_1, asm volatile("st.volatile.shared.u8 [%0], %1;" :: "r"(a), "r"(acc) : "memory");)
PROBE(st_2, asm volatile("st.volatile.shared.u16 [%0], %1;" :: "r"(a), "h"((unsigned short)acc) : "memory");)
PROBE(st_4, asm volatile("st.volatile.shared.u32 [%0], %1;" :: "r"(a), "r"(acc) : "memory");)
PROBE(st_8, asm volatile("st.volatile.shared.v2.u32 [%0], {%1, %1};" :: "r"(a), "r"(acc) : "memory");)
PROBE(st_16, asm volatile("st.volatile.shared.v4.u32 [%0], {%1, %1, %1, %1};" :: "r"(a), "r"(acc) : "memory");)
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750
PROBE(ldmatrix_x1, unsigned v; asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v) : "r"(a) : "memory"); acc += v;)
PROBE(ldmatrix_x2, unsigned v, w; asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(v), "=r"(w) : "r"(a) : "memory"); acc += v ^ w;)
PROBE(ldmatrix_x4, unsigned v, w, x, y; asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(v), "=r"(w), "=r"(x), "=r"(y) : "r"(a) : "memory"); acc += v ^ w ^ x ^ y;)
#endif
// clang-format on
