// Each warp moves 4x32 floats from lane-major to register-major order through shared memory.
extern "C" __global__ void __launch_bounds__(128) permute(const float* in, float* out) {
    __shared__ __align__(16) float tile[4][128];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int base = (blockIdx.x * 4 + warp) * 128;
    float reg[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) reg[r] = in[base + r * 32 + lane];
#pragma unroll
    for (int r = 0; r < 4; ++r) tile[warp][(lane * 4 + r) ^ (lane >> 3)] = reg[r];
    __syncwarp();
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const int element = r * 32 + lane;
        out[base + element] = tile[warp][element ^ (element >> 5)];
    }
}
