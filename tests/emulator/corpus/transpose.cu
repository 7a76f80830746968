// Transpose through a tile of 32 x 32: plain (PAD 0, XOR 0), padded (PAD 1), or swizzled (XOR 1).
extern "C" __global__ void k(const float* in, float* out, int width, int height) {
    __shared__ float tile[32][32 + PAD];
    int x = threadIdx.x, y = threadIdx.y;
    int column = blockIdx.x * 32 + x, row = blockIdx.y * 32 + y;
    for (int j = 0; j < 32; j += 8) tile[y + j][XOR ? x ^ (y + j) : x] = in[(row + j) * width + column];
    __syncthreads();
    column = blockIdx.y * 32 + x;
    row = blockIdx.x * 32 + y;
    for (int j = 0; j < 32; j += 8) out[(row + j) * height + column] = tile[x][XOR ? x ^ (y + j) : y + j];
}
