// Histogram of bytes: shared atomics, then one global atomic per bin and block.
extern "C" __global__ void k(const unsigned char* data, unsigned* bins, int n) {
    __shared__ unsigned part[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) part[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&part[data[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], part[i]);
}
