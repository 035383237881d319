#define _GNU_SOURCE
#include "csystem.h"

#include <libintl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/sysinfo.h>

int cs_errno(void) { return errno; }

void cs_copy(void *to, const void *from, size_t size) { memcpy(to, from, size); }

size_t cs_length(const char *text, size_t most) { return strnlen(text, most); }

int cs_is_zero(const uint8_t *bytes, size_t size) {
  return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

void cs_sleep(struct timespec duration) { nanosleep(&duration, NULL); }

const char *cs_error_text(int error) {
  const char *text = strerrordesc_np(error);
  return text ? text : "unknown error";
}

int cs_above_standard(int file) {
  if (file < 0 || file > 2) return file;
  int moved = fcntl(file, F_DUPFD_CLOEXEC, 3), error = errno;
  close(file);
  errno = error;
  return moved;
}

int cs_openat(int directory, const uint8_t *name, int flags, mode_t mode) {
  return cs_above_standard(openat(directory, (const char *)name, flags | O_CLOEXEC, mode));
}

int cs_status(int file, const uint8_t *path, struct stat *status) {
  if (path == NULL) return fstatat(file, "", status, AT_EMPTY_PATH);
  return fstatat(AT_FDCWD, (const char *)path, status, AT_SYMLINK_NOFOLLOW);
}

int cs_open_nameless(int directory, mode_t mode) {
  return cs_above_standard(openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
}

int cs_link_file(int file, int directory, const uint8_t *name) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  int result = linkat(AT_FDCWD, path, directory, (const char *)name, AT_SYMLINK_FOLLOW);
  // Root needs no /proc: a package may be installed in a chroot without it.
  return result == -1 && errno == ENOENT ? linkat(file, "", directory, (const char *)name, AT_EMPTY_PATH) : result;
}

cs_ids cs_user_ids(void) {
  cs_ids ids = {(uid_t)-1, (uid_t)-1, (uid_t)-1};
  getresuid(&ids.real, &ids.effective, &ids.saved);
  return ids;
}

/* Root there is anybody who found a way to ask: nobody's. */
static cs_ids asked_by(cs_ids ids, uid_t asker) {
  ids.real = asker == 0 ? (uid_t)-1 : asker;
  return ids;
}

cs_ids cs_peer_ids(void) {
  cs_ids ids = cs_user_ids();
  struct ucred peer = {.uid = (uid_t)-1};
  socklen_t size = sizeof peer;
  getsockopt(0, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return ids.real != 0 || peer.uid == (uid_t)-1 ? ids : asked_by(ids, peer.uid);
}

/* libsystemd's (or elogind's) where the program has it loaded, as GDM's worker has; else NULL. */
extern int sd_pid_get_session(pid_t, char **) __attribute__((weak));
extern int sd_session_get_uid(const char *, uid_t *) __attribute__((weak));

cs_ids cs_session_ids(void) {
  cs_ids ids = cs_user_ids();
  char *session = NULL;
  uid_t owner = 0;
  int isIn = sd_pid_get_session && sd_pid_get_session(0, &session) >= 0;
  if (ids.real != 0 || (!isIn && !getenv("GDM_SESSION_FOR_REAUTH"))) return ids;
  if (isIn && sd_session_get_uid) sd_session_get_uid(session, &owner);
  free(session);
  return asked_by(ids, owner);
}

int cs_input_is_terminal(const uint8_t *name) {
  char path[64];
  snprintf(path, sizeof path, *name == '/' ? "%s" : "/dev/%s", (const char *)name);
  struct stat input, named;
  return isatty(0) && cs_status(0, NULL, &input) == 0 && cs_status(-1, (uint8_t *)path, &named) == 0
    && input.st_rdev == named.st_rdev;
}

const char *cs_program_name(void) {
  if (cs_is_secure()) return "";
  const char *path = (const char *)getauxval(AT_EXECFN), *name = path;
  while (*path)
    if (*path++ == '/') name = path;
  return name;
}

int cs_is_secure(void) {
  return getauxval(AT_SECURE) != 0;
}

void cs_log(int priority, const char *text) {
  openlog("passcode", LOG_PID, LOG_AUTHPRIV);
  syslog(LOG_AUTHPRIV | priority, "%s", text);
  closelog();
}

uint64_t cs_clock(clockid_t clock) {
  struct timespec now;
  if (clock_gettime(clock, &now) != 0 || now.tv_sec < 0) return UINT64_MAX;
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

size_t cs_format_time(time_t seconds, int local, const char *format, uint8_t *text, size_t room) {
  struct tm parts;
  const struct tm *known = local ? localtime_r(&seconds, &parts) : gmtime_r(&seconds, &parts);
  return known ? strftime((char *)text, room, format, known) : 0;
}

uint64_t cs_processor_time(pid_t process) {
  /* As clock_getcpuclockid(3) makes it: 2 is the scheduler's own count. Unsigned: C doesn't define how a negative number
     is shifted. */
  return cs_clock((clockid_t)(~(uint32_t)process << 3 | 2));
}

int cs_reserve_memory(size_t size, int touch) {
  void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (touch ? MAP_POPULATE : 0), -1, 0);
  if (area == MAP_FAILED) return errno;
  munmap(area, size);
  return 0;
}

cs_memory cs_machine_memory(void) {
  struct sysinfo info;
  if (sysinfo(&info) != 0) return (cs_memory){0, UINT64_MAX};
  uint64_t unit = info.mem_unit;
  return (cs_memory){info.totalram * unit, (info.freeram + info.bufferram) * unit};
}

uint64_t cs_block_signals(void) {
  sigset_t all, before = {0};
  memset(&all, 0xff, sizeof all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  uint64_t mask;
  memcpy(&mask, &before, sizeof mask);
  return mask;
}

void cs_restore_signals(uint64_t mask) {
  sigset_t before = {0};
  memcpy(&before, &mask, sizeof mask);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int cs_find_account(const uint8_t *name, uid_t *uid, gid_t *gid, uint8_t *found, size_t size) {
  struct passwd entry, *result = NULL;
  int error = ERANGE;
  for (size_t room = 1024; error == ERANGE && room <= 1 << 20; room *= 4) {
    char *buffer = malloc(room);
    if (buffer == NULL) return ENOMEM;
    do {
      error = name ? getpwnam_r((const char *)name, &entry, buffer, room, &result)
                   : getpwuid_r(*uid, &entry, buffer, room, &result);
    } while (error == EINTR);
    if (error == 0 && result != NULL) {
      *uid = entry.pw_uid;
      *gid = entry.pw_gid;
      size_t length = strnlen(entry.pw_name, size);
      error = length < size ? 0 : ENAMETOOLONG;
      if (error == 0) memcpy(found, entry.pw_name, length + 1);
    }
    free(buffer);
  }
  return error == 0 && result == NULL ? -1 : error;
}

int cs_set_lock(int file, short type, off_t byte) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
  return fcntl(file, F_OFD_SETLK, &lock);
}

void cs_account_details(uid_t uid, uint8_t *gecos, uint8_t *home, size_t room) {
  const struct passwd *entry = getpwuid(uid);
  snprintf((char *)gecos, room, "%s", entry && entry->pw_gecos ? entry->pw_gecos : "");
  snprintf((char *)home, room, "%s", entry && entry->pw_dir ? entry->pw_dir : "");
}

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

/* Embedded Swift has no CommandLine. glibc hands every constructor what main will get. */
static int count;
static char **arguments;

__attribute__((constructor)) static void keep_arguments(int argc, char **argv) {
  count = argc;
  arguments = argv;
}

int cs_argument_count(void) {
  return count;
}

/* getopt_long reorders the arguments, so it shares them. */
char **cs_arguments(void) {
  return arguments;
}
