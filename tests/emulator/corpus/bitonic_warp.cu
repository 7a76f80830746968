// Bitonic sort of 32 numbers in a warp by shuffles alone.
extern "C" __global__ void k(unsigned* x) {
    int i = blockIdx.x * 32 + threadIdx.x, lane = threadIdx.x;
    unsigned value = x[i];
    for (int size = 2; size <= 32; size <<= 1)
        for (int by = size / 2; by > 0; by >>= 1) {
            unsigned other = __shfl_xor_sync(0xffffffffu, value, by);
            bool up = (lane & size) == 0, low = (lane & by) == 0;
            value = (up == low) ? min(value, other) : max(value, other);
        }
    x[i] = value;
}
