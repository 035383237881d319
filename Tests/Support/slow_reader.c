/* Preloaded into fprintd: a reader that needs SLOW_READER milliseconds until it can be used. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

void fp_device_open(void *device, void *cancellable, void *done, void *data) {
  void (*next)(void *, void *, void *, void *);
  *(void **)&next = dlsym(RTLD_NEXT, "fp_device_open");
  usleep((unsigned)atoi(getenv("SLOW_READER")) * 1000);
  next(device, cancellable, done, data);
}
