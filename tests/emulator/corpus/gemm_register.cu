// C = A * B, 64 x 64 tiles, 8 x 4 elements a thread, float4 loads: the shape of a fast SGEMM.
extern "C" __global__ void __launch_bounds__(128)
k(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int N, int K) {
    __shared__ __align__(16) float As[16][64], Bs[16][64];
    int t = threadIdx.x, tx = t % 16, ty = t / 16;
    const float* a0 = A + blockIdx.y * 64 * K;
    const float* b0 = B + blockIdx.x * 64;
    float acc[8][4] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int l = 0; l < 2; ++l) {
            int v = t + l * 128, row = v / 4, c = v % 4 * 4;
            float4 q = *(const float4*)(a0 + row * K + k0 + c);
            As[c][row] = q.x; As[c + 1][row] = q.y; As[c + 2][row] = q.z; As[c + 3][row] = q.w;
            row = v / 16, c = v % 16 * 4;
            *(float4*)&Bs[row][c] = *(const float4*)(b0 + (k0 + row) * N + c);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            float a[8];
            float4 b = *(float4*)&Bs[k][tx * 4];
            for (int i = 0; i < 8; ++i) a[i] = As[k][ty * 8 + i];
            for (int i = 0; i < 8; ++i) {
                acc[i][0] = fmaf(a[i], b.x, acc[i][0]);
                acc[i][1] = fmaf(a[i], b.y, acc[i][1]);
                acc[i][2] = fmaf(a[i], b.z, acc[i][2]);
                acc[i][3] = fmaf(a[i], b.w, acc[i][3]);
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; ++i)
        *(float4*)(C + (blockIdx.y * 64 + ty * 8 + i) * N + blockIdx.x * 64 + tx * 4) =
            make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
}
