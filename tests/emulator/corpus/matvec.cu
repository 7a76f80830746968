// y = A x with float4 loads, a row a warp.
extern "C" __global__ void k(const float4* A, const float4* x, float* y, int quads) {
    int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    float sum = 0.0f;
    for (int q = lane; q < quads; q += 32) {
        float4 a = A[row * quads + q], b = x[q];
        sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
    if (lane == 0) y[row] = sum;
}
