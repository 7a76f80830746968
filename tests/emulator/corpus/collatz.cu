// Steps to one: every lane loops its own number of times, in 64-bit integers.
extern "C" __global__ void k(const unsigned* x, unsigned* steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long v = x[i];
    unsigned count = 0;
    while (v != 1) {
        v = v & 1 ? 3 * v + 1 : v >> 1;
        ++count;
    }
    steps[i] = count;
}
