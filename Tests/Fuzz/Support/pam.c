/* libpam, as far as the module calls it. */
#define _GNU_SOURCE
#include "world.h"

#include <security/pam_appl.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void __real_free(void *);

/* What the module has to wipe before it frees it. */
static char *answer;
static size_t answer_length;

static int converse(int count, const struct pam_message **messages, struct pam_response **responses, void *data) {
  (void)data;
  if (count != 1) fuzz_fail("more than one message at once");
  int is_prompt = messages[0]->msg_style == PAM_PROMPT_ECHO_OFF;
  if (!is_prompt && messages[0]->msg_style != PAM_TEXT_INFO) fuzz_fail("an unexpected kind of message");
  for (const char *text = messages[0]->msg; *text; text++)
    if ((unsigned char)*text < 0x20) fuzz_fail("a control character in a message");
  if (is_prompt) seen.prompts++;
  else seen.tells++;
  if (plan.conversation == 1) return PAM_CONV_ERR;
  *responses = NULL;
  if (plan.conversation == 2) return PAM_SUCCESS;
  *responses = calloc(1, sizeof **responses);
  const char *text = fuzz_text(fuzz_answer);
  if (!is_prompt || plan.conversation == 3) return PAM_SUCCESS;
  answer_length = strlen(text ? text : "");
  (*responses)->resp = answer = strdup(text ? text : "");
  return PAM_SUCCESS;
}

void __wrap_free(void *memory) {
  if (fuzz_active && memory != NULL && memory == answer) {
    for (size_t i = 0; i < answer_length; i++)
      if (answer[i] != 0) fuzz_fail("an answer that was not wiped");
    answer = NULL;
  }
  __real_free(memory);
}

int pam_get_item(const pam_handle_t *handle, int type, const void **item) {
  static const struct pam_conv usual = {converse, NULL}, none = {NULL, NULL};
  (void)handle;
  *item = NULL;
  switch (type) {
  case PAM_SERVICE: *item = fuzz_text(fuzz_service); break;
  case PAM_TTY: *item = fuzz_text(fuzz_terminal); break;
  case PAM_XDISPLAY: *item = fuzz_text(fuzz_display); break;
  case PAM_RHOST: *item = fuzz_text(fuzz_remote_host); break;
  case PAM_RUSER: *item = fuzz_text(fuzz_requester); break;
  case PAM_AUTHTOK: *item = fuzz_text(fuzz_token); break;
  case PAM_CONV: *item = plan.conversation == 4 ? &none : plan.conversation == 5 ? NULL : &usual; break;
  default: fuzz_fail("an item that the module needn't know");
  }
  return PAM_SUCCESS;
}

int pam_set_item(pam_handle_t *handle, int type, const void *item) {
  (void)handle;
  if (type != PAM_AUTHTOK) fuzz_fail("an item that the module mustn't set");
  seen.left_token = item != NULL;
  if (item != NULL) fuzz_set(fuzz_token, item, strlen(item));
  return PAM_SUCCESS;
}

/* Before the prompt the user; after it perhaps another one. */
int pam_get_user(pam_handle_t *handle, const char **user, const char *prompt) {
  (void)handle, (void)prompt;
  *user = fuzz_text(fuzz_user);
  if (seen.prompts > 0 && fuzz_text(fuzz_later_user)) *user = fuzz_text(fuzz_later_user);
  if (*user == NULL) return plan.conversation == 1 ? PAM_CONV_ERR : PAM_SYSTEM_ERR;
  return PAM_SUCCESS;
}

int pam_set_data(pam_handle_t *handle, const char *name, void *data,
                 void (*cleanup)(pam_handle_t *, void *, int)) {
  (void)handle, (void)name, (void)data, (void)cleanup;
  return PAM_SUCCESS;
}

int pam_get_data(const pam_handle_t *handle, const char *name, const void **data) {
  (void)handle, (void)name;
  *data = NULL;
  return PAM_NO_MODULE_DATA;
}

int pam_fail_delay(pam_handle_t *handle, unsigned microseconds) {
  (void)handle;
  if (microseconds == 0 || microseconds > 60000000) fuzz_fail("a delay that can't be configured");
  seen.delays++;
  return PAM_SUCCESS;
}

/* One line of printable ASCII, without what was typed. */
void pam_syslog(const pam_handle_t *handle, int priority, const char *format, ...) {
  (void)handle, (void)priority;
  char line[8192];
  va_list list;
  va_start(list, format);
  int length = vsnprintf(line, sizeof line, format, list);
  va_end(list);
  if (length < 0 || (size_t)length >= sizeof line) fuzz_fail("a line of the log without an end");
  for (int i = 0; i < length; i++)
    if (line[i] < 0x20 || line[i] > 0x7e) fuzz_fail("a line of the log that isn't printable");
}
