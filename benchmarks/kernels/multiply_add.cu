// 8 independent chains of 256 multiply-adds a thread.
extern "C" __global__ void __launch_bounds__(256) multiply_add(float* data) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float scale = 0.999f, step = 0.001f;
    float value[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) value[c] = data[i] + c;
    for (int round = 0; round < 16; ++round)
#pragma unroll
        for (int j = 0; j < 16; ++j)
#pragma unroll
            for (int c = 0; c < 8; ++c) value[c] = fmaf(value[c], scale, step);
    float sum = 0;
#pragma unroll
    for (int c = 0; c < 8; ++c) sum += value[c];
    data[i] = sum;
}
