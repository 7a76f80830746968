// Global loads at a stride: 32-byte sectors fetched grow with it.
extern "C" __global__ void k(const float* x, float* y, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i * stride];
}
