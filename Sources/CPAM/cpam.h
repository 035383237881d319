/* libpam for Swift: its headers, and the one call that is variadic. */
#pragma once
#include <security/pam_appl.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>

static inline void cpam_syslog(const pam_handle_t *handle, int priority, const char *text) {
  pam_syslog(handle, priority, "%s", text);
}
