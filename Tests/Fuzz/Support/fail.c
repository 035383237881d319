#include "fuzz.h"

#include <stdio.h>

void fuzz_fail(const char *reason) {
  fprintf(stderr, "Fatal: %s\n", reason);
  __builtin_trap();
}
