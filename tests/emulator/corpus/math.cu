// The usual functions of the math library, and the fast ones.
extern "C" __global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], p = fabsf(v) + 0.5f;
    y[i] = sinf(v);
    y[n + i] = cosf(v);
    y[2 * n + i] = expf(v);
    y[3 * n + i] = logf(p);
    y[4 * n + i] = powf(p, 1.5f);
    y[5 * n + i] = tanhf(v);
    y[6 * n + i] = erff(v);
    y[7 * n + i] = atan2f(v, p);
    y[8 * n + i] = cbrtf(v);
    y[9 * n + i] = fmodf(v, 0.7f);
    y[10 * n + i] = rsqrtf(p);
    y[11 * n + i] = __expf(v);
    y[12 * n + i] = __fdividef(v, p);
    y[13 * n + i] = ldexpf(v, 3);
    y[14 * n + i] = floorf(v) + truncf(v) + rintf(v);
    y[15 * n + i] = sqrtf(p);
}
