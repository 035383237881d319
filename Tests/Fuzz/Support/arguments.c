/* argv is the input's. */
#include "fuzz.h"

#include <getopt.h>
#include <string.h>

enum { most = 64 };

static int count;
static char *list[most + 1];

void fuzz_arguments(const uint8_t *strings, size_t size) {
  const char *next = (const char *)strings, *end = next + size;
  for (count = 0; next < end && count < most; next += strlen(next) + 1) list[count++] = (char *)next;
  list[count] = NULL;
  optind = 0; /* glibc then starts over, also within a group of letters */
  optarg = NULL;
}

int __wrap_cs_argument_count(void) { return count; }

const char *__wrap_cs_argument(int index) { return index >= 0 && index < count ? list[index] : NULL; }

char **__wrap_cs_arguments(void) { return list; }
