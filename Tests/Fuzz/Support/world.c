/* The world of one call of pam_sm_authenticate: what an input says, and what must hold afterwards.

   The root that the module sees is a directory in TMPDIR, which should be on a tmpfs and root's. Every program that is
   linked with this must be linked with --wrap for each function here that begins with __wrap_. */
#define _GNU_SOURCE
#include "world.h"

#include "csystem.h"

#include <security/pam_appl.h>
#include <security/pam_modules.h>
#include <stdio.h>

fuzz_plan plan;
fuzz_seen seen;
int fuzz_active, fuzz_root = -1;

static uint8_t *texts[fuzz_texts];
static size_t lengths[fuzz_texts];
static int call;

enum { secrets_size = 1344, most_descriptors = 24 };

static void make_root(void) {
  static const char *const folders[] = {"etc", "etc/security", "etc/passcode", "var", "var/lib", "var/lib/passcode",
                                        "run", "run/passcode", "usr", "usr/libexec"};
  const char *parent = getenv("TMPDIR");
  char path[4096];
  snprintf(path, sizeof path, "%s/fuzz.XXXXXX", parent ? parent : "/tmp");
  if (mkdtemp(path) == NULL || (fuzz_root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
    fuzz_fail("no directory in TMPDIR");
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) mkdirat(fuzz_root, folders[i], 0755);
  fuzz_file("usr/libexec/passcode-helper", (const uint8_t *)"", 0, 0755);
  if (fchownat(fuzz_root, "usr/libexec/passcode-helper", 990, 990, 0) != 0) fuzz_fail("this needs root");
  fchmodat(fuzz_root, "usr/libexec/passcode-helper", 06755, 0);
}

void fuzz_begin(void) {
  if (fuzz_root < 0) make_root();
  for (int i = 0; i < fuzz_texts; i++) {
    free(texts[i]);
    texts[i] = NULL;
    lengths[i] = 0;
  }
  memset(&plan, 0, sizeof plan);
  memset(&seen, 0, sizeof seen);
  call = 0;
}

void fuzz_set(enum fuzz_text text, const uint8_t *bytes, size_t count) {
  uint8_t *copy = malloc(count + 1);
  memcpy(copy, bytes, count);
  copy[count] = 0;
  free(texts[text]);
  texts[text] = copy;
  lengths[text] = count;
}

const char *fuzz_text(enum fuzz_text text) { return (const char *)texts[text]; }
size_t fuzz_text_length(enum fuzz_text text) { return lengths[text]; }

void fuzz_file(const char *path, const uint8_t *bytes, size_t count, mode_t mode) {
  if (fuzz_root < 0) make_root();
  if (bytes == NULL) {
    unlinkat(fuzz_root, path, 0);
    return;
  }
  int file = openat(fuzz_root, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, (off_t)count) != 0 || pwrite(file, bytes, count, 0) != (ssize_t)count ||
      fchmod(file, mode) != 0)
    fuzz_fail("a file can't be prepared");
  close(file);
}

size_t fuzz_content(const char *path, uint8_t *bytes, size_t room) {
  int file = openat(fuzz_root, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t count = pread(file, bytes, room, 0);
  close(file);
  return count < 0 ? 0 : (size_t)count;
}

int fuzz_fault(uint8_t *detail) {
  static const int errors[] = {EINTR,  EIO,     ENOSPC,  EACCES, ENOENT, EMFILE, ENOMEM, ELOOP,
                               EDQUOT, ENOTDIR, EEXIST, EAGAIN, EPERM,  EROFS};
  int now = call++;
  for (int i = 0; i < fuzz_faults; i++) {
    if (plan.faults[2 * i + 1] == 0 || plan.faults[2 * i] != now) continue;
    uint8_t what = plan.faults[2 * i + 1] - 1;
    seen.faults++;
    *detail = what >> 4;
    if ((what & 15) >= sizeof errors / sizeof *errors) return -1;
    if (errors[what & 15] == ENOENT) seen.hidden++;
    return errors[what & 15];
  }
  return 0;
}

static uint64_t open_descriptors(void) {
  struct pollfd files[most_descriptors];
  for (int file = 0; file < most_descriptors; file++) files[file] = (struct pollfd){.fd = file};
  poll(files, most_descriptors, 0);
  uint64_t set = 0;
  for (int file = 0; file < most_descriptors; file++)
    if (!(files[file].revents & POLLNVAL)) set |= 1ULL << file;
  return set;
}

/* The memory that the process keeps for the next call has nothing of this one. */
static void check_wiped(void) {
  uint8_t *memory = cs_take_kept_memory();
  if (memory == NULL) return;
  for (int i = 0; i < secrets_size; i++)
    if (memory[i] != 0) fuzz_fail("a secret that was not wiped");
  if (cs_keep_memory(memory) == 0) fuzz_fail("the memory is kept twice");
}

static int is_known(int result) {
  switch (result) {
  case PAM_SUCCESS: case PAM_AUTH_ERR: case PAM_USER_UNKNOWN: case PAM_IGNORE: case PAM_PERM_DENIED:
  case PAM_CRED_INSUFFICIENT: case PAM_CONV_ERR: case PAM_AUTHINFO_UNAVAIL: case PAM_SERVICE_ERR: return 1;
  default: return 0;
  }
}

int fuzz_authenticate(void) {
  const char *arguments[16];
  for (int i = 0; i < 16; i++) arguments[i] = fuzz_text(fuzz_first_argument + i);
  uint64_t descriptors = open_descriptors();
  fuzz_helper_begin();
  fuzz_calls_begin();
  fuzz_active = 1;
  int result = pam_sm_authenticate((pam_handle_t *)&plan, plan.flags, plan.arguments, arguments);
  fuzz_active = 0;
  fuzz_calls_end();
  fuzz_helper_end();
  if (open_descriptors() != descriptors) fuzz_fail("a descriptor is still open, or one too many was closed");
  if (!is_known(result)) fuzz_fail("a result that the manual page doesn't name");
  if (seen.prompts > 1) fuzz_fail("more than one prompt");
  check_wiped();
  return result;
}
