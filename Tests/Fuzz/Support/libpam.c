/* libpam itself, with service files and modules of ours. */
#define _GNU_SOURCE
#include "fuzz.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <security/pam_appl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Nothing to the machine's log. */
void __vsyslog_chk(int priority, int flag, const char *format, va_list words) {
  (void)priority, (void)flag, (void)format, (void)words;
}

void vsyslog(int priority, const char *format, va_list words) { __vsyslog_chk(priority, 0, format, words); }

enum { most_files = 4 };
static struct {
  uint8_t *text;
  size_t count;
} files[most_files];

void fuzz_libpam_file(size_t index, const uint8_t *text, size_t count) {
  free(files[index].text);
  files[index].text = NULL;
  if (text == NULL) return;
  files[index].text = malloc(count + 1);
  if (files[index].text == NULL) fuzz_fail("no memory");
  memcpy(files[index].text, text, count);
  files[index].count = count;
}

/* Service files are the input's, in whatever folder: libpam 1.5.2 looks for what is included in /etc/pam.d only. */
FILE *fopen(const char *path, const char *mode) {
  static FILE *(*real)(const char *, const char *);
  if (real == NULL) real = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
  int is_module = strstr(path, fuzz_libpam_modules()) != NULL;
  if (!is_module && strstr(path, "/pam.d/") == NULL) return real(path, mode);
  const char *name = strrchr(path, '/') + 1;
  size_t index = (size_t)(name[0] - 'a');
  if (is_module || name[0] < 'a' || index >= most_files || name[1] != 0 || files[index].text == NULL) {
    errno = ENOENT;
    return NULL;
  }
  return fmemopen(files[index].text, files[index].count, "r");
}

/* libpam forgets memory where it gives a file up. */
const char *__lsan_default_suppressions(void) { return "leak:libpam.so"; }

const char *fuzz_libpam_modules(void) {
  static char folder[PATH_MAX];
  if (folder[0] == 0) {
    ssize_t count = readlink("/proc/self/exe", folder, sizeof folder - 16);
    if (count < 0) fuzz_fail("no program");
    strcpy(strrchr(folder, '/'), "/modules/");
  }
  return folder;
}

/* Else libpam would load them, and forget them, each time. */
static void keep_modules(void) {
  static const char *const names[] = {"passcode", "unix", "permit", "deny", "other"};
  char path[PATH_MAX];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, "%spam_%s.so", fuzz_libpam_modules(), names[i]);
    if (dlopen(path, RTLD_NOW | RTLD_NODELETE) == NULL) fuzz_fail("no module");
  }
}

static int converse(int count, const struct pam_message **messages, struct pam_response **answers, void *data) {
  (void)count, (void)messages, (void)answers, (void)data;
  return PAM_CONV_ERR;
}

int fuzz_libpam_opens(const uint8_t *answers) {
  static const struct pam_conv conversation = {converse, NULL};
  static int is_kept;
  if (!is_kept) keep_modules();
  is_kept = 1;
  pam_handle_t *handle = NULL;
  int result = pam_start_confdir("a", (const char *)answers, &conversation, "/etc/pam.d/", &handle);
  if (result == PAM_SUCCESS) result = pam_authenticate(handle, PAM_SILENT);
  pam_end(handle, result);
  return result == PAM_SUCCESS;
}
