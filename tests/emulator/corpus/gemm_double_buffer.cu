// As gemm_plain, with the next tile stored while the present one is used: one barrier a step.
extern "C" __global__ void k(const float* A, const float* B, float* C, int N, int K) {
    __shared__ float a[2][16][16], b[2][16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0.0f;
    a[0][y][x] = A[row * K + x];
    b[0][y][x] = B[y * N + column];
    __syncthreads();
    for (int k0 = 0, now = 0; k0 < K; k0 += 16, now ^= 1) {
        if (k0 + 16 < K) {
            a[now ^ 1][y][x] = A[row * K + k0 + 16 + x];
            b[now ^ 1][y][x] = B[(k0 + 16 + y) * N + column];
        }
        for (int i = 0; i < 16; ++i) sum = fmaf(a[now][y][i], b[now][i][x], sum);
        __syncthreads();
    }
    C[row * N + column] = sum;
}
