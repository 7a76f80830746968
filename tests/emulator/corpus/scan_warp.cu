// Scan by shuffles in each warp, warp totals scanned by the first warp.
extern "C" __global__ void k(const int* x, int* y) {
    __shared__ int totals[32];
    int i = threadIdx.x, lane = i & 31, warp = i >> 5;
    int value = x[i];
    for (int by = 1; by < 32; by <<= 1) {
        int other = __shfl_up_sync(0xffffffffu, value, by);
        if (lane >= by) value += other;
    }
    if (lane == 31) totals[warp] = value;
    __syncthreads();
    if (warp == 0) {
        int total = lane < (blockDim.x >> 5) ? totals[lane] : 0;
        for (int by = 1; by < 32; by <<= 1) {
            int other = __shfl_up_sync(0xffffffffu, total, by);
            if (lane >= by) total += other;
        }
        totals[lane] = total;
    }
    __syncthreads();
    y[i] = value + (warp > 0 ? totals[warp - 1] : 0);
}
