/* libpam itself, with service files and modules of ours. */
#define _GNU_SOURCE
#include "fuzz.h"

#include <dlfcn.h>
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

/* libpam 1.5.2 looks for what is included in this folder only. */
static const char system_folder[] = "/etc/pam.d/";

FILE *fopen(const char *path, const char *mode) {
  static FILE *(*real)(const char *, const char *);
  if (real == NULL) real = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
  char own[PATH_MAX];
  if (strncmp(path, system_folder, sizeof system_folder - 1) == 0) {
    snprintf(own, sizeof own, "%s/%s", getenv("TMPDIR"), path + sizeof system_folder - 1);
    path = own;
  }
  return real(path, mode);
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

void fuzz_libpam_file(size_t index, const uint8_t *text, size_t count) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%c", getenv("TMPDIR"), (char)('a' + index));
  if (text == NULL) {
    unlink(path);
    return;
  }
  FILE *file = fopen(path, "w");
  if (file == NULL || fwrite(text, 1, count, file) != count || fclose(file) != 0) fuzz_fail("no file");
}

static int converse(int count, const struct pam_message **messages, struct pam_response **answers, void *data) {
  (void)count, (void)messages, (void)answers, (void)data;
  return PAM_CONV_ERR;
}

int fuzz_libpam_opens(const uint8_t *answers) {
  static const struct pam_conv conversation = {converse, NULL};
  pam_handle_t *handle = NULL;
  int result = pam_start_confdir("a", (const char *)answers, &conversation, getenv("TMPDIR"), &handle);
  if (result == PAM_SUCCESS) result = pam_authenticate(handle, PAM_SILENT);
  pam_end(handle, result);
  return result == PAM_SUCCESS;
}
