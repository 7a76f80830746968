// Loads and stores of one width (TYPE, of WIDTH bytes) at a stride of STRIDE elements.
struct __align__(16) Sixteen { unsigned a, b, c, d; };
extern "C" __global__ void k(const unsigned char* in, unsigned char* out) {
    __shared__ __align__(16) unsigned char bytes[32 * STRIDE * WIDTH];
    volatile unsigned char* raw = bytes;
    for (int i = threadIdx.x; i < 32 * STRIDE * WIDTH; i += 32) raw[i] = in[i];
    __syncthreads();
    TYPE* tile = (TYPE*)bytes;
    TYPE value = tile[threadIdx.x * STRIDE];
    __syncthreads();
    tile[(31 - threadIdx.x) * STRIDE] = value;
    __syncthreads();
    for (int i = threadIdx.x; i < 32 * STRIDE * WIDTH; i += 32) out[i] = raw[i];
}
