/* libpam for Swift: its headers, and what Swift can't say: a variadic call, and macros. */
#pragma once
#include <security/pam_appl.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

static inline void cpam_syslog(const pam_handle_t *handle, int priority, const char *text) {
  pam_syslog(handle, priority, "%s", text);
}

/* Wipes and frees a NUL-terminated text. */
static inline void cpam_wipe(char *text) {
  if (text) explicit_bzero(text, strlen(text));
  free(text);
}

/* The same for what a conversation function answered to one message. */
static inline void cpam_free_answer(struct pam_response *answer) {
  if (answer) cpam_wipe(answer->resp);
  free(answer);
}
