// A lock in global memory guards a sum that is not atomic itself.
extern "C" __global__ void k(int* lock, volatile int* sum) {
    for (bool done = false; !done;) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *sum = *sum + threadIdx.x;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
