// Blocks visit tiles in a grouped order; every tile is written by exactly one block.
extern "C" __global__ void k(int* owner, int rows, int columns, int group) {
    int id = blockIdx.x, per = group * columns, g = id / per;
    int height = min(rows - g * group, group);
    int row = g * group + id % per % height, column = id % per / height;
    if (threadIdx.x == 0) owner[row * columns + column] = id;
}
