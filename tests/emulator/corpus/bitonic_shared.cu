// Bitonic sort of 512 numbers in shared memory by 256 threads.
extern "C" __global__ void k(float* x) {
    __shared__ float s[512];
    int t = threadIdx.x;
    s[t] = x[t];
    s[t + 256] = x[t + 256];
    for (int size = 2; size <= 512; size <<= 1)
        for (int by = size / 2; by > 0; by >>= 1) {
            __syncthreads();
            int i = 2 * t - (t & (by - 1));
            bool up = (i & size) == 0;
            float a = s[i], b = s[i + by];
            if ((a > b) == up) {
                s[i] = b;
                s[i + by] = a;
            }
        }
    __syncthreads();
    x[t] = s[t];
    x[t + 256] = s[t + 256];
}
