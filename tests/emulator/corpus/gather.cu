// Indirect loads: every lane follows its own index, twice.
extern "C" __global__ void k(const int* next, int* out, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, place = i;
    for (int s = 0; s < steps; ++s) place = next[place];
    out[i] = place;
}
