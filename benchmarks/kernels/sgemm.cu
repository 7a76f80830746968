// C = A * B in float32: 64x64 tiles, 8 deep, 128 threads, 4x8 results a thread.
constexpr int TILE = 64, DEPTH = 8;

extern "C" __global__ void __launch_bounds__(128)
sgemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n,
      int k) {
    __shared__ __align__(16) float left[DEPTH][TILE];
    __shared__ __align__(16) float right[DEPTH][TILE];
    const int tx = threadIdx.x & 7, ty = threadIdx.x >> 3;
    const int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    float sum[4][8] = {};
    for (int start = 0; start < k; start += DEPTH) {
        for (int i = threadIdx.x; i < TILE * DEPTH; i += 128) {
            left[i & 7][i >> 3] = a[(row + (i >> 3)) * k + start + (i & 7)];
            right[i >> 6][i & 63] = b[(start + (i >> 6)) * n + column + (i & 63)];
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            float x[4], y[8];
#pragma unroll
            for (int i = 0; i < 4; ++i) x[i] = left[d][ty * 4 + i];
#pragma unroll
            for (int j = 0; j < 8; ++j) y[j] = right[d][tx * 8 + j];
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) sum[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) c[(row + ty * 4 + i) * n + column + tx * 8 + j] = sum[i][j];
}
