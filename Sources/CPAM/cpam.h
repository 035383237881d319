/* libpam for Swift: its headers, and what Swift can't say: a variadic call, and macros. */
#pragma once
#include <security/pam_appl.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <sodium/utils.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

/* Text comes as the bytes of an array that ends in NUL: Swift lends those as they are. */
static inline void cpam_syslog(const pam_handle_t *handle, int priority, const uint8_t *text) {
  pam_syslog(handle, priority, "%s", (const char *)text);
}

/* One message through the program's conversation function; NULL if that failed or there is none. */
static inline struct pam_response *cpam_converse(pam_handle_t *handle, int style, const uint8_t *text) {
  const void *item = NULL;
  if (pam_get_item(handle, PAM_CONV, &item) != PAM_SUCCESS || item == NULL) return NULL;
  const struct pam_conv *conversation = item;
  const struct pam_message message = {.msg_style = style, .msg = (const char *)text}, *list = &message;
  struct pam_response *answer = NULL;
  if (conversation->conv == NULL) return NULL;
  if (conversation->conv(1, &list, &answer, conversation->appdata_ptr) != PAM_SUCCESS) return NULL;
  return answer;
}

/* Wipes and frees a NUL-terminated text. By strnlen, which all our code uses: strlen would be one more name to look up. */
static inline void cpam_wipe(char *text) {
  if (text) sodium_memzero(text, strnlen(text, PTRDIFF_MAX));
  free(text);
}

/* The same for what a conversation function answered to one message. */
static inline void cpam_free_answer(struct pam_response *answer) {
  if (answer) cpam_wipe(answer->resp);
  free(answer);
}

/* The conversation of `cpam_proves`: answers one hidden question, and no second one. */
struct cpam_proof {
  const char *password;
  int asked;
};
static inline int cpam_answer(
    int count, const struct pam_message **messages, struct pam_response **responses, void *data) {
  struct cpam_proof *proof = data;
  struct pam_response *answers = count > 0 && count <= 32 ? calloc(count, sizeof *answers) : NULL;
  if (answers == NULL) return PAM_CONV_ERR;
  for (int index = 0; index < count; index++) {
    const int style = messages[index]->msg_style;
    if (style == PAM_TEXT_INFO || style == PAM_ERROR_MSG) continue;
    if (style == PAM_PROMPT_ECHO_OFF && proof->asked++ == 0) answers[index].resp = strdup(proof->password);
    if (answers[index].resp != NULL) continue;
    while (index > 0) cpam_wipe(answers[--index].resp);
    free(answers);
    return PAM_CONV_ERR;
  }
  *responses = answers;
  return PAM_SUCCESS;
}

/* Whether a service file of `folder` lets the user in who answers its one question with this password. A stack that lets
   somebody in without having asked proves nothing. */
static inline __attribute__((noinline)) int cpam_proves(
    const uint8_t *service, const uint8_t *user, const uint8_t *folder, const char *password) {
  struct cpam_proof proof = {.password = password};
  const struct pam_conv conversation = {.conv = cpam_answer, .appdata_ptr = &proof};
  pam_handle_t *handle = NULL;
  int code = pam_start_confdir((const char *)service, (const char *)user, &conversation, (const char *)folder, &handle);
  if (code != PAM_SUCCESS || handle == NULL) return 0;
  code = pam_authenticate(handle, 0);
  pam_end(handle, code);
  return code == PAM_SUCCESS && proof.asked == 1;
}

/* Numbers that the handle keeps for us, by name; 0: none was kept. As a pointer to nothing, so there is nothing to
   free. */
static inline void cpam_note(pam_handle_t *handle, const uint8_t *name, intptr_t number) {
  pam_set_data(handle, (const char *)name, (void *)number, NULL);
}
static inline intptr_t cpam_noted(const pam_handle_t *handle, const uint8_t *name) {
  const void *number = NULL;
  return pam_get_data(handle, (const char *)name, &number) == PAM_SUCCESS ? (intptr_t)number : 0;
}
