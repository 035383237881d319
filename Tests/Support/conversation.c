// What programs and PAM say to each other: preloaded into every program of a machine (/etc/ld.so.preload), it notes
// each call of pam_authenticate, its prompts and messages, and its result. Never what is typed.
//
// A line in CONVERSATION: pid, service, word, text, separated by tabs. The file must be there, and writable by anyone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <security/pam_appl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONVERSATION "/var/tmp/conversation"

// libpam's own function; not linked, since most programs have nothing to do with PAM. A plugin's libpam (sudo's) isn't
// behind us in the search order.
static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found) return found;
  void *library = dlopen("libpam.so.0", RTLD_LAZY);
  found = library ? dlsym(library, name) : NULL;
  if (!found) abort();
  return found;
}

// What a program gave to pam_start, and the service that it asked for.
struct conversation {
  struct pam_conv theirs;
  char service[64];
};

static void note(const char *service, const char *word, const char *text) {
  char line[1024];
  int length = snprintf(line, sizeof line, "%d\t%s\t%s\t%s", getpid(), service, word, text);
  if (length < 0) return;
  if (length > (int)sizeof line - 2) length = sizeof line - 2;
  for (int index = 0; index < length; index++)
    if (line[index] == '\n' || line[index] == '\r') line[index] = ' ';
  line[length++] = '\n';
  int file = open(CONVERSATION, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, line, length) != length) abort();
  close(file);
}

static const char *word(int style) {
  switch (style) {
    case PAM_PROMPT_ECHO_OFF: return "prompt";
    case PAM_PROMPT_ECHO_ON: return "open prompt";
    case PAM_TEXT_INFO: return "text";
    case PAM_ERROR_MSG: return "error";
    default: return "other";
  }
}

static int converse(int count, const struct pam_message **messages, struct pam_response **answers, void *data) {
  struct conversation *ours = data;
  for (int index = 0; index < count; index++)
    note(ours->service, word(messages[index]->msg_style), messages[index]->msg);
  int result = ours->theirs.conv(count, messages, answers, ours->theirs.appdata_ptr);
  if (result != PAM_SUCCESS) note(ours->service, "refusal", result == PAM_CONV_ERR ? "conversation error" : "other error");
  return result;
}

// Lives as long as the process: handles may outlive any point where it could be freed.
static struct conversation *wrap(const char *service, const struct pam_conv *theirs) {
  struct conversation *ours = calloc(1, sizeof *ours);
  if (!ours) abort();
  ours->theirs = *theirs;
  snprintf(ours->service, sizeof ours->service, "%s", service ? service : "?");
  return ours;
}

int pam_start(const char *service, const char *user, const struct pam_conv *theirs, pam_handle_t **handle) {
  int (*start)(const char *, const char *, const struct pam_conv *, pam_handle_t **) = real("pam_start");
  struct pam_conv conv = {converse, wrap(service, theirs)};
  return start(service, user, &conv, handle);
}

static const char *service_of(pam_handle_t *handle) {
  int (*get)(const pam_handle_t *, int, const void **) = real("pam_get_item");
  const void *service = NULL;
  return get(handle, PAM_SERVICE, &service) == PAM_SUCCESS && service ? service : "?";
}

static const char *result_of(pam_handle_t *handle, int result) {
  const char *(*text)(pam_handle_t *, int) = real("pam_strerror");
  return text(handle, result);
}

int pam_set_item(pam_handle_t *handle, int type, const void *item) {
  int (*set)(pam_handle_t *, int, const void *) = real("pam_set_item");
  const struct pam_conv *theirs = item;
  if (type != PAM_CONV || !theirs || theirs->conv == converse) return set(handle, type, item);
  struct pam_conv conv = {converse, wrap(service_of(handle), theirs)};
  return set(handle, type, &conv);
}

int pam_authenticate(pam_handle_t *handle, int flags) {
  int (*authenticate)(pam_handle_t *, int) = real("pam_authenticate");
  note(service_of(handle), "call", "");
  int result = authenticate(handle, flags);
  note(service_of(handle), "result", result_of(handle, result));
  return result;
}
