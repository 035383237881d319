#include "tool.h"

#include <getopt.h>

enum { most_options = 32 };

int cs_next_option(const cs_option *table, int count) {
  struct option options[most_options + 1] = {0};
  for (int i = 0; i < count && i < most_options; i++) {
    options[i].name = table[i].name;
    options[i].has_arg = table[i].takes_value ? required_argument : no_argument;
    options[i].val = 256 + i;
  }
  opterr = 0;
  /* One letter only: -h, as everywhere. The colon: ':' tells an option that lacks its value. */
  int found = getopt_long(cs_argument_count(), cs_arguments(), ":h", options, NULL);
  if (found == -1) return -1;
  if (found == ':') return -3;
  if (found == '?' && optopt >= 256) return -4;
  if (found == 'h') {
    for (int i = 0; i < count; i++)
      if (strcmp(table[i].name, "help") == 0) return i;
  }
  return found >= 256 ? found - 256 : -2;
}

const char *cs_option_value(void) {
  return optarg;
}

const char *cs_option_text(void) {
  static char letter[] = "-?";
  if (optopt) {
    /* optind may still be that of the word: in -xy, of -x. */
    letter[1] = (char)optopt;
    return letter;
  }
  const char *text = cs_argument(optind - 1);
  return text ? text : "";
}

int cs_option_at_fault(void) {
  return optopt - 256;
}

int cs_first_operand(void) {
  return optind;
}
