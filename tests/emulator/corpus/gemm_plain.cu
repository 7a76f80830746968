// C = A * B, tiles of 16 x 16, one element a thread.
extern "C" __global__ void k(const float* A, const float* B, float* C, int N, int K) {
    __shared__ float a[16][16], b[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += 16) {
        a[y][x] = A[row * K + k0 + x];
        b[y][x] = B[(k0 + y) * N + column];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum = fmaf(a[y][i], b[i][x], sum);
        __syncthreads();
    }
    C[row * N + column] = sum;
}
