#define _GNU_SOURCE
#include "tool.h"

#include <ftw.h>
#include <libintl.h>
#include <locale.h>
#include <shadow.h>
#include <sys/syscall.h>

int cs_has_password(const uint8_t *name) {
  int answer = -1, error = ERANGE;
  for (size_t room = 1024; error == ERANGE && room <= 1 << 20; room *= 4) {
    struct spwd entry, *result = NULL;
    char *buffer = malloc(room);
    if (buffer == NULL) return -1;
    do error = getspnam_r((const char *)name, &entry, buffer, room, &result);
    while (error == EINTR);
    if (error == 0 && result != NULL) answer = entry.sp_pwdp[0] != 0 && strchr("!*", entry.sp_pwdp[0]) == NULL;
    explicit_bzero(buffer, room);
    free(buffer);
  }
  return answer;
}

int64_t cs_local_seconds(int year, int month, int day, int minutes) {
  struct tm noon = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = 12, .tm_isdst = -1};
  struct tm moment = noon;
  // mktime takes 31 June for 1 July.
  if (mktime(&noon) == -1 || noon.tm_mon != month - 1 || noon.tm_mday != day) return -1;
  moment.tm_hour = minutes / 60;
  moment.tm_min = minutes % 60;
  return mktime(&moment);
}

ssize_t cs_program_path(uint8_t *path, size_t room) {
  return readlink("/proc/self/exe", (char *)path, room);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  (void)status, (void)kind, (void)walk;
  return remove(path);
}

void cs_remove_tree(const char *path) {
  nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static const int interrupts[CS_INTERRUPTS] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP};

void cs_ignore_interrupts(cs_dispositions *before) {
  const struct sigaction ignore = {.sa_handler = SIG_IGN};
  for (int i = 0; i < CS_INTERRUPTS; i++) sigaction(interrupts[i], &ignore, &before->actions[i]);
}

void cs_restore_interrupts(const cs_dispositions *before) {
  for (int i = 0; i < CS_INTERRUPTS; i++) sigaction(interrupts[i], &before->actions[i], NULL);
}

int cs_execute(const uint8_t *program, const uint8_t *argument) {
  char *const arguments[] = {(char *)program, (char *)argument, NULL};
  execv((const char *)program, arguments);
  return errno;
}

int cs_input_is_ready(int milliseconds) {
  struct pollfd input = {.fd = 0, .events = POLLIN};
  return poll(&input, 1, milliseconds) > 0;
}

int cs_is_unlocked(int file, off_t byte) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
  return fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

int cs_open_process(pid_t process) {
  return cs_above_standard((int)syscall(SYS_pidfd_open, process, 0));
}

int cs_end_process(int handle) {
  struct pollfd ending = {.fd = handle, .events = POLLIN};
  return syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0) == 0 && poll(&ending, 1, 1000) == 1;
}

/* Whether /proc says that this descriptor of the process has a lock of flock(2). */
static int has_flock(pid_t process, const char *number) {
  char path[64], line[256];
  int found = 0;
  snprintf(path, sizeof path, "/proc/%d/fdinfo/%s", (int)process, number);
  FILE *lines = fopen(path, "re");
  while (lines && !found && fgets(line, sizeof line, lines))
    found = strncmp(line, "lock:", 5) == 0 && strstr(line, "FLOCK") != NULL;
  if (lines) fclose(lines);
  return found;
}

int cs_holds_lock(pid_t process, int file) {
  char path[300];
  struct stat ours, theirs;
  int holds = 0;
  snprintf(path, sizeof path, "/proc/%d/fd", (int)process);
  DIR *files = fstat(file, &ours) == 0 ? opendir(path) : NULL;
  for (struct dirent *entry; files && !holds && (entry = readdir(files));)
    // stat follows the link to the open file itself, whatever its path says.
    holds = fstatat(dirfd(files), entry->d_name, &theirs, 0) == 0 && theirs.st_dev == ours.st_dev &&
            theirs.st_ino == ours.st_ino && has_flock(process, entry->d_name);
  if (files) closedir(files);
  return holds;
}

static int compare(const void *one, const void *two) {
  uint32_t first = *(const uint32_t *)one, second = *(const uint32_t *)two;
  return (first > second) - (first < second);
}

void cs_sort(uint32_t *numbers, size_t count) { qsort(numbers, count, sizeof *numbers, compare); }

void cs_use_language(int of_environment) {
  // Only these two: numbers and times look the same everywhere.
  const char *locale = of_environment ? "" : "C";
  setlocale(LC_CTYPE, locale);
  setlocale(LC_MESSAGES, locale);
}

const char *cs_translated_error(int error) {
  return dgettext("libc", cs_error_text(error));
}
