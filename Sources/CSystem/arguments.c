#include "csystem.h"

/* Embedded Swift has no CommandLine. glibc hands every constructor what main will get. */
static int count;
static char **arguments;

__attribute__((constructor)) static void keep_arguments(int argc, char **argv) {
  count = argc;
  arguments = argv;
}

int cs_argument_count(void) {
  return count;
}

const char *cs_argument(int index) {
  return index >= 0 && index < count ? arguments[index] : NULL;
}

/* getopt_long reorders the arguments, so it shares them. */
char **cs_arguments(void) {
  return arguments;
}
