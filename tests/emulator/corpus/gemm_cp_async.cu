// As gemm_double_buffer, tiles filled by cp.async: 64 threads copy 16 bytes each, two stages.
__device__ void copy16(void* to, const void* from) {
    unsigned t = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(t), "l"(from));
}
extern "C" __global__ void k(const float* A, const float* B, float* C, int N, int K) {
    __shared__ __align__(16) float a[2][16][16], b[2][16][16];
    int x = threadIdx.x, y = threadIdx.y, t = y * 16 + x;
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    auto fill = [&](int stage, int k0) {
        if (t < 64) {
            copy16(&a[stage][t / 4][t % 4 * 4], A + (row + t / 4) * K + k0 + t % 4 * 4);
            copy16(&b[stage][t / 4][t % 4 * 4], B + (k0 + t / 4) * N + column + t % 4 * 4);
        }
        asm volatile("cp.async.commit_group;");
    };
    float sum = 0.0f;
    fill(0, 0);
    for (int k0 = 0, now = 0; k0 < K; k0 += 16, now ^= 1) {
        if (k0 + 16 < K) {
            fill(now ^ 1, k0 + 16);
            asm volatile("cp.async.wait_group 1;");
        } else {
            asm volatile("cp.async.wait_group 0;");
        }
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum = fmaf(a[now][y][i], b[now][i][x], sum);
        __syncthreads();
    }
    C[(row + y) * N + column + x] = sum;
}
