#define _GNU_SOURCE
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

int cs_pass_on(const char *program, int first) {
  static char search[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  static const char *const names[] = {"SUDO_USER=", "LANG=", "LANGUAGE=", "LC_ALL=", "LC_MESSAGES="};
  enum { kinds = sizeof names / sizeof *names };
  char *kept[kinds + 2] = {search};
  int next = 1;
  for (int name = 0; name < kinds; name++)
    for (char **variable = environ; variable && *variable; variable++)
      if (strncmp(*variable, names[name], strlen(names[name])) == 0) {
        kept[next++] = *variable;
        break;
      }
  arguments[first - 1] = (char *)program;
  execve(program, arguments + first - 1, kept);
  return errno;
}

/* getopt_long reorders the arguments, so it shares them. */
char **cs_arguments(void) {
  return arguments;
}
