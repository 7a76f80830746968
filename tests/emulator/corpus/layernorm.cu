// Layer normalisation of a row by a block: mean and variance by shared memory, rsqrtf.
__device__ float block_sum(float value, float* part) {
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int by = 16; by > 0; by /= 2) value += __shfl_xor_sync(~0u, value, by);
    if (lane == 0) part[warp] = value;
    __syncthreads();
    float total = 0.0f;
    for (int w = 0; w < blockDim.x / 32; ++w) total += part[w];
    __syncthreads();
    return total;
}
extern "C" __global__ void k(const float* x, const float* gain, const float* bias, float* y) {
    __shared__ float part[32];
    int i = threadIdx.x, n = blockDim.x;
    float value = x[blockIdx.x * n + i];
    float mean = block_sum(value, part) / n;
    float apart = value - mean;
    float variance = block_sum(apart * apart, part) / n;
    y[blockIdx.x * n + i] = apart * rsqrtf(variance + 1e-5f) * gain[i] + bias[i];
}
