// Insertion sort of eight numbers a thread, in local memory.
extern "C" __global__ void k(int* x) {
    int v[8];
    int* mine = x + (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    for (int i = 0; i < 8; ++i) {
        int value = mine[i], j = i;
        while (j > 0 && v[j - 1] > value) {
            v[j] = v[j - 1];
            --j;
        }
        v[j] = value;
    }
    for (int i = 0; i < 8; ++i) mine[i] = v[i];
}
