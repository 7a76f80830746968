/* A libcuda.so.1 with no device behind it: memory is malloc's, and launches obey the environment.
   What it does not define answers 801 (see the fixture that builds it).

   FAKE_CUDA_INIT    result of cuInit
   FAKE_CUDA_CONTEXT result of making a context
   FAKE_CUDA_LOAD    result of loading a module
   FAKE_CUDA_LAUNCH  error of every launch of the kernel "k" and sticky from then on; -1 hangs,
                     -2 aborts, -3 never finishes; 701 is not sticky, as on a device
   FAKE_CUDA_COPY    "k" copies that many bytes from its first buffer to its second
   FAKE_CUDA_STRAY   "k" also writes one byte that far behind its second buffer's first byte
   FAKE_CUDA_MEMORY  bytes of device memory */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int R;
typedef unsigned long long dptr;
typedef void *P;

static int sticky, initialised, depth, running;
static P stack[64];
static int the_context, the_stream;

static long long setting(const char *name, long long otherwise) {
  const char *text = getenv(name);
  return text ? atoll(text) : otherwise;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static size_t memory(void) { return (size_t)setting("FAKE_CUDA_MEMORY", 1LL << 32); }

#define CHECK           \
  if (!initialised)     \
    return 3;           \
  if (sticky)           \
    return sticky

R cuInit(unsigned flags) {
  int error = (int)setting("FAKE_CUDA_INIT", 0);
  if (error) return error;
  initialised = 1;
  return 0;
}
R cuDriverGetVersion(int *version) { *version = 13000; return 0; }
R cuGetErrorString(int e, const char **text) {
  *text = e == 1     ? "invalid argument"
          : e == 2   ? "out of memory"
          : e == 3   ? "initialization error"
          : e == 34  ? "CUDA driver is a stub library"
          : e == 46  ? "CUDA-capable device(s) is/are busy or unavailable"
          : e == 100 ? "no CUDA-capable device is detected"
          : e == 101 ? "invalid device ordinal"
          : e == 201 ? "invalid device context"
          : e == 209 ? "no kernel image is available for execution on the device"
          : e == 222 ? "the provided PTX was compiled with an unsupported toolchain."
          : e == 500 ? "named symbol not found"
          : e == 700 ? "an illegal memory access was encountered"
          : e == 701 ? "too many resources requested for launch"
          : e == 702 ? "the launch timed out and was terminated"
          : e == 710 ? "device-side assert triggered"
          : e == 715 ? "an illegal instruction was encountered"
          : e == 716 ? "misaligned address"
          : e == 719 ? "unspecified launch failure"
          : e == 801 ? "operation not supported"
                     : "unknown error";
  return 0;
}
R cuDeviceGetCount(int *n) { *n = 1; return 0; }
R cuDeviceGet(int *d, int ordinal) {
  if (!initialised) return 3;
  if (ordinal) return 101;
  *d = 0;
  return 0;
}
R cuDeviceGetName(char *b, int n, int d) { snprintf(b, n, "Fake GPU"); return 0; }
R cuDeviceComputeCapability(int *major, int *minor, int d) { *major = 9; *minor = 0; return 0; }
R cuDeviceTotalMem_v2(size_t *n, int d) { *n = memory(); return 0; }
R cuDeviceGetAttribute(int *v, int a, int d) {
  *v = a == 1    ? 1024
       : a == 10 ? 32
       : a == 13 ? 1980000 /* kHz */
       : a == 16 ? 132
       : a == 38 ? 1 << 20 /* L2 */
       : a == 75 ? 9
       : a == 97 ? 232448
                 : 0;
  return 0;
}
R cuDeviceGetPCIBusId(char *b, int n, int d) { snprintf(b, n, "0000:00:00.0"); return 0; }
R cuCtxCreate_v2(P *c, unsigned flags, int d) {
  CHECK;
  if (setting("FAKE_CUDA_CONTEXT", 0)) return (int)setting("FAKE_CUDA_CONTEXT", 0);
  *c = stack[depth++] = &the_context;
  return 0;
}
R cuCtxAttach(P *c, unsigned flags) {
  CHECK;
  if (!depth) return 201;
  *c = stack[depth - 1];
  return 0;
}
R cuCtxDetach(P c) {
  if (depth) depth--;
  return sticky;
}
R cuCtxPushCurrent_v2(P c) { stack[depth++] = c; return sticky; }
R cuCtxPopCurrent_v2(P *c) {
  if (!depth) return 201;
  *c = stack[--depth];
  return sticky;
}
R cuCtxGetDevice(int *d) {
  if (!depth) return 201;
  *d = 0;
  return 0;
}
R cuCtxSynchronize(void) { CHECK; return 0; }
R cuCtxGetApiVersion(P c, unsigned *v) { *v = 13000; return 0; }
R cuDevicePrimaryCtxRetain(P *c, int d) {
  CHECK;
  if (setting("FAKE_CUDA_CONTEXT", 0)) return (int)setting("FAKE_CUDA_CONTEXT", 0);
  *c = &the_context;
  return 0;
}
R cuDevicePrimaryCtxRelease_v2(int d) { return sticky; }
R cuMemGetInfo_v2(size_t *free_, size_t *total) {
  CHECK;
  *free_ = *total = memory();
  return 0;
}
R cuMemAlloc_v2(dptr *p, size_t n) {
  CHECK;
  if (n > memory()) return 2;
  void *q = NULL;
  if (posix_memalign(&q, 512, n)) return 2;
  *p = (dptr)q;
  return 0;
}
R cuMemFree_v2(dptr p) {
  if (sticky) return sticky;
  free((void *)p);
  return 0;
}
R cuMemcpyHtoD_v2(dptr d, const void *s, size_t n) { CHECK; memcpy((void *)d, s, n); return 0; }
R cuMemcpyDtoH_v2(void *d, dptr s, size_t n) { CHECK; memcpy(d, (void *)s, n); return 0; }
R cuMemcpyDtoD_v2(dptr d, dptr s, size_t n) { CHECK; memcpy((void *)d, (void *)s, n); return 0; }
R cuMemcpyDtoDAsync_v2(dptr d, dptr s, size_t n, P stream) { return cuMemcpyDtoD_v2(d, s, n); }
R cuMemsetD8_v2(dptr d, unsigned char v, size_t n) { CHECK; memset((void *)d, v, n); return 0; }
R cuMemsetD8Async(dptr d, unsigned char v, size_t n, P s) { return cuMemsetD8_v2(d, v, n); }
R cuMemsetD32_v2(dptr d, unsigned v, size_t n) {
  CHECK;
  for (size_t i = 0; i < n; i++) ((unsigned *)d)[i] = v;
  return 0;
}
R cuMemsetD32Async(dptr d, unsigned v, size_t n, P s) { return cuMemsetD32_v2(d, v, n); }
R cuModuleLoadData(P *m, const void *image) {
  CHECK;
  int error = (int)setting("FAKE_CUDA_LOAD", 0);
  if (error) return error;
  *m = malloc(1);
  return 0;
}
R cuModuleLoadDataEx(P *m, const void *image, unsigned n, const int *options, P *values) {
  for (unsigned i = 0; i < n; i++)
    if (options[i] == 3 || options[i] == 5) /* buffers for the logs */
      *(char *)values[i] = 0;
  return cuModuleLoadData(m, image);
}
R cuModuleUnload(P m) { return sticky; }
R cuModuleGetFunction(P *f, P m, const char *name) {
  CHECK;
  *f = strdup(name);
  return 0;
}
R cuFuncGetAttribute(int *v, int a, P f) { CHECK; *v = a == 4 ? 40 : a == 1 ? 128 : 0; return 0; }
R cuFuncSetAttribute(P f, int a, int v) { CHECK; return 0; }
R cuFuncSetCacheConfig(P f, int c) { return 0; }
R cuLaunchKernel(P f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                 unsigned shared, P stream, P *parameters, P *extra) {
  CHECK;
  if (strcmp((char *)f, "k")) return 0;
  int error = (int)setting("FAKE_CUDA_LAUNCH", 0);
  if (error == -1)
    for (;;) sleep(1);
  if (error == -2) abort();
  if (error == -3) running = 1;
  if (error == 701) return 701;
  if (error > 0) {
    sticky = error;
    return 0; /* like a device: the launch is fine, what follows is not */
  }
  long long bytes = setting("FAKE_CUDA_COPY", 0);
  if (bytes && extra) {
    dptr *arguments = (dptr *)extra[1]; /* after CU_LAUNCH_PARAM_BUFFER_POINTER */
    memcpy((void *)arguments[1], (void *)arguments[0], (size_t)bytes);
    if (getenv("FAKE_CUDA_STRAY")) {
      unsigned char *stray = (unsigned char *)arguments[1] + setting("FAKE_CUDA_STRAY", 0);
      *stray = (unsigned char)(*stray + 1);
    }
  }
  return 0;
}
R cuStreamCreate(P *s, unsigned flags) { CHECK; *s = &the_stream; return 0; }
R cuStreamDestroy_v2(P s) { return sticky; }
R cuStreamSynchronize(P s) { CHECK; return 0; }
R cuStreamQuery(P s) { CHECK; return 0; }
R cuEventCreate(P *e, unsigned flags) { CHECK; *e = calloc(1, 8); return 0; }
R cuEventRecord(P e, P s) { CHECK; *(double *)e = now(); return 0; }
R cuEventSynchronize(P e) { CHECK; return 0; }
R cuEventQuery(P e) { CHECK; return running ? 600 : 0; }
R cuEventElapsedTime(float *m, P a, P b) { CHECK; *m = *(double *)b - *(double *)a; return 0; }
R cuEventElapsedTime_v2(float *m, P a, P b) { return cuEventElapsedTime(m, a, b); }
R cuEventDestroy_v2(P e) { return sticky; }
/* NVRTC looks this up in any libcuda.so.1 it can load, and calls it without a look. */
R cuGetExportTable(const void **table, const void *id) { return 801; }
R cuMemHostAlloc(P *p, size_t n, unsigned flags) { CHECK; *p = malloc(n); return 0; }
R cuMemFreeHost(P p) { free(p); return sticky; }
