#include "csystem.h"

#include <libintl.h>
#include <locale.h>

#define DOMAIN "libpam-passcode"

const char *cs_translation(const uint8_t *text, const uint8_t *plural, unsigned long number) {
#ifdef PASSCODE_LOCALE_DIRECTORY
  // The catalogues aren't in the directory where the C library looks.
  bindtextdomain(DOMAIN, PASSCODE_LOCALE_DIRECTORY);
#endif
  const char *one = (const char *)text, *many = (const char *)plural;
  const char *found = *many ? dngettext(DOMAIN, one, many, number) : dgettext(DOMAIN, one);
  return found == one || found == many ? NULL : found;
}

void cs_use_language(int of_environment) {
  // Only these two: numbers and times look the same everywhere.
  const char *locale = of_environment ? "" : "C";
  setlocale(LC_CTYPE, locale);
  setlocale(LC_MESSAGES, locale);
}

const char *cs_translated_error(int error) {
  return dgettext("libc", cs_error_text(error));
}
