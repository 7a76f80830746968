// Softmax of a row by a warp, with expf.
extern "C" __global__ void k(const float* x, float* y, int columns) {
    int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const float* from = x + row * columns;
    float top = -INFINITY, sum = 0.0f;
    for (int c = lane; c < columns; c += 32) top = fmaxf(top, from[c]);
    for (int by = 16; by > 0; by /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, by));
    for (int c = lane; c < columns; c += 32) sum += expf(from[c] - top);
    for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
    for (int c = lane; c < columns; c += 32) y[row * columns + c] = expf(from[c] - top) / sum;
}
