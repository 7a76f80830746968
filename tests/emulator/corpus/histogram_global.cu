// Every thread takes a ticket from the bin of its value: the old values are a permutation.
extern "C" __global__ void k(const int* value, int* count, int* ticket) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    ticket[i] = atomicAdd(&count[value[i]], 1);
}
