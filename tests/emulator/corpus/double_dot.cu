// Dot product in double precision with fused multiply-adds, one partial sum a thread.
extern "C" __global__ void k(const double* x, const double* y, double* part, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    double sum = 0.0;
    for (int j = i; j < n; j += all) sum = fma(x[j], y[j], sum);
    part[i] = sum;
}
