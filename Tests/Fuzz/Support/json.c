/* jansson reads what our writer wrote: a parser by other people, and a strict one (RFC 8259). */
#include "fuzz.h"

#include <jansson.h>
#include <string.h>

int fuzz_json(const uint8_t *text, size_t count, const char *name, uint8_t *value, size_t room, long *length) {
  json_t *root = json_loadb((const char *)text, count, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
  if (root == NULL) return 0;
  json_t *found = json_object_get(root, name);
  *length = -1;
  if (json_is_string(found)) {
    size_t bytes = json_string_length(found);
    if (bytes > room) fuzz_fail("a string that has grown");
    memcpy(value, json_string_value(found), bytes);
    *length = (long)bytes;
  }
  int is_object = json_is_object(root);
  json_decref(root);
  return is_object;
}
