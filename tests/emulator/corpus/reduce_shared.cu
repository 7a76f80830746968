// Tree reduction of a block in shared memory: one sum per block.
extern "C" __global__ void k(const int* x, int* sums) {
    __shared__ int part[256];
    int i = threadIdx.x;
    part[i] = x[blockIdx.x * 256 + i];
    __syncthreads();
    for (int half = 128; half > 0; half >>= 1) {
        if (i < half) part[i] += part[i + half];
        __syncthreads();
    }
    if (i == 0) sums[blockIdx.x] = part[0];
}
