// Keep the odd numbers, in order within a warp: ballot, one atomic a warp.
extern "C" __global__ void k(const int* x, int* kept, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, start = 0;
    bool keep = i < n && (x[i] & 1);
    unsigned votes = __ballot_sync(0xffffffffu, keep);
    if (lane == 0) start = atomicAdd(count, __popc(votes));
    start = __shfl_sync(0xffffffffu, start, 0);
    if (keep) kept[start + __popc(votes & ((1u << lane) - 1))] = x[i];
}
