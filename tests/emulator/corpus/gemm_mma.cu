// C = A * B in halves: a warp computes 16 x 8 with ldmatrix and mma.m16n8k16; A and B by rows.
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half* A, const __half* B, float* C, int N, int K) {
    __shared__ __align__(16) __half a[16][16], b[16][8];
    int lane = threadIdx.x, row = blockIdx.y * 16, column = blockIdx.x * 8;
    float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int i = lane; i < 256; i += 32) a[i / 16][i % 16] = A[(row + i / 16) * K + k0 + i % 16];
        for (int i = lane; i < 128; i += 32) b[i / 8][i % 8] = B[(k0 + i / 8) * N + column + i % 8];
        __syncwarp();
        unsigned ra[4], rb[2];
        unsigned pa = (unsigned)__cvta_generic_to_shared(&a[lane % 16][lane / 16 * 8]);
        unsigned pb = (unsigned)__cvta_generic_to_shared(&b[lane % 16][0]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                     : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
        __syncwarp();
    }
    int g = lane / 4, t = lane % 4 * 2;
    float* out = C + (row + g) * N + column + t;
    out[0] = c[0];
    out[1] = c[1];
    out[8 * N] = c[2];
    out[8 * N + 1] = c[3];
}
