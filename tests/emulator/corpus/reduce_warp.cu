// Grid-stride loop, shuffles within a warp, one atomic per warp.
extern "C" __global__ void k(const int* x, int* sum, int n) {
    int total = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) total += x[i];
    for (int by = 16; by > 0; by >>= 1) total += __shfl_down_sync(0xffffffffu, total, by);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, total);
}
