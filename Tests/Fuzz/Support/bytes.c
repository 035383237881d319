#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int fuzz_is_zero(const uint8_t *bytes, size_t count) {
  return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
}

int fuzz_is_same(const uint8_t *one, const uint8_t *other, size_t count) {
  return count == 0 || memcmp(one, other, count) == 0;
}

int fuzz_is_judged(const uint8_t *bytes, size_t count, unsigned one_in) {
  static int samples = -1;
  if (samples < 0) samples = getenv("PASSCODE_FUZZ_SAMPLES") != NULL;
  if (!samples) return 1;
  uint64_t hash = count, word;
  for (; count >= sizeof word; bytes += sizeof word, count -= sizeof word) {
    memcpy(&word, bytes, sizeof word);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  }
  for (; count > 0; bytes++, count--) hash = (hash ^ *bytes) * 0x9e3779b97f4a7c15;
  return (hash >> 32) % one_in == 0;
}
