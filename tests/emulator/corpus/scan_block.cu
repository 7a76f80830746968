// Hillis-Steele inclusive scan of a block between two buffers of dynamic shared memory.
extern __shared__ int buffer[];
extern "C" __global__ void k(const int* x, int* y) {
    int i = threadIdx.x, n = blockDim.x, from = 0;
    buffer[i] = x[blockIdx.x * n + i];
    __syncthreads();
    for (int by = 1; by < n; by <<= 1) {
        int value = buffer[from + i];
        if (i >= by) value += buffer[from + i - by];
        from = n - from;
        buffer[from + i] = value;
        __syncthreads();
    }
    y[blockIdx.x * n + i] = buffer[from + i];
}
