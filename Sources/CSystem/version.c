#include "tool.h"

/* The version of this package, in each of its programs: an ELF note (elf(5), Elf64_Nhdr), by which `passcode check`
   finds programs of different packages. debian/changelog has the same (test_binaries.py). */
#define VERSION "0.2.0"

static const struct {
  uint32_t name_size, size, type;
  char name[16], version[16];
} note __attribute__((section(".note.passcode"), used, retain, aligned(4))) = {
    sizeof "pam_passcode", sizeof note.version, 1, "pam_passcode", VERSION};

const uint8_t *cs_version_note(size_t *size, size_t *start) {
  *size = sizeof note;
  *start = sizeof note - sizeof note.version;
  return (const uint8_t *)&note;
}
