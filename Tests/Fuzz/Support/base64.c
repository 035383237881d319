/* libsodium writes and reads base64: a codec by other people. */
#include "fuzz.h"

#include <sodium.h>

/* How many bytes the text stands for; -1 if it is none. */
long fuzz_unbase64(const uint8_t *text, size_t count, uint8_t *bytes, size_t room) {
  size_t length = 0;
  int status = sodium_base642bin(bytes, room, (const char *)text, count, NULL, &length, NULL, sodium_base64_VARIANT_ORIGINAL);
  return status == 0 ? (long)length : -1;
}

/* Into `text`, which has room for it and a NUL. */
void fuzz_base64(const uint8_t *bytes, size_t count, uint8_t *text, size_t room) {
  if (sodium_bin2base64((char *)text, room, bytes, count, sodium_base64_VARIANT_ORIGINAL) == NULL) fuzz_fail("no room");
}
