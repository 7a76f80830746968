// A warp turns 32 x 4 floats into 4 x 32 in place, in shared memory.
extern "C" __global__ void k(float* data) {
    __shared__ __align__(16) float tile[4][128];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float* mine = tile[warp];
    float* global = data + (blockIdx.x * 4 + warp) * 128;
    for (int i = 0; i < 4; ++i) mine[i * 32 + lane] = global[i * 32 + lane];
    __syncwarp();
    float r[4];
    for (int i = 0; i < 4; ++i) r[i] = mine[lane * 4 + i];
    __syncwarp();
    for (int i = 0; i < 4; ++i) mine[i * 32 + lane] = r[i];
    __syncwarp();
    for (int i = 0; i < 4; ++i) global[i * 32 + lane] = mine[i * 32 + lane];
}
