/* System calls and calls of libc and libsodium, as an input wants them. Paths are looked up below the module's root;
   clocks stand still unless something sleeps or looks; other calls are the machine's, unless a fault is due. */
#define _GNU_SOURCE
#include "world.h"

#include "csystem.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>

#define FAULT(result)                                \
  do {                                               \
    uint8_t detail;                                  \
    int error = fuzz_active ? fuzz_fault(&detail) : 0; \
    if (error != 0) {                                \
      errno = error > 0 ? error : EIO;               \
      return result;                                 \
    }                                                \
  } while (0)

static uint64_t boot, wall;
/* What the module thinks is blocked. libFuzzer must get the signals: a fault would only end the program. */
static sigset_t blocked;
static int sleeps, locks, written, synced, record_holder = -1, slots_holder = -1;
/* 120 s, the longest wait, mostly a millisecond each. */
enum { most_sleeps = 130000 };

/* What kept.c keeps, and nothing in the module ever forgets. */
void fuzz_forget_kept(void);

void fuzz_calls_begin(void) {
  char path[64];
  snprintf(path, sizeof path, "var/lib/passcode/%u", plan.record);
  boot = (uint64_t)fuzz_boot_start * 1000000;
  wall = (uint64_t)fuzz_wall_start * 1000000000;
  sleeps = locks = written = synced = 0;
  memset(&blocked, 0, sizeof blocked);
  if (plan.forgets) fuzz_forget_kept();
  if (plan.record_held) {
    record_holder = openat(fuzz_root, path, O_RDWR | O_CLOEXEC);
    if (record_holder >= 0) flock(record_holder, LOCK_EX);
  }
  if (plan.slots_held) {
    slots_holder = openat(fuzz_root, "var/lib/passcode/places", O_RDWR | O_CLOEXEC);
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = plan.slots_held & 1 ? 64 : 128};
    if (slots_holder >= 0) fcntl(slots_holder, F_OFD_SETLK, &range);
  }
}

void fuzz_check_charged(void) {
  if (locks == 0) fuzz_fail("a hash without the record's lock");
  if (written != 0 || synced == 0) fuzz_fail("a hash before the charge was on the device");
}

static void give_back(int *holder) {
  if (*holder >= 0) close(*holder);
  *holder = -1;
}

void fuzz_calls_end(void) {
  give_back(&record_holder);
  give_back(&slots_holder);
  for (size_t i = 0; i < sizeof(uint64_t); i++)
    if (((uint8_t *)&blocked)[i] != 0) fuzz_fail("signals are still blocked");
  if (locks != 0) fuzz_fail("a lock that was not given back");
  seen.boot_milliseconds = boot / 1000000;
  seen.wall_seconds = wall / 1000000000;
}

void fuzz_pass(uint64_t nanoseconds) {
  boot += nanoseconds;
  wall += nanoseconds;
}

/* MARK: Clocks and sleep */

extern int __real_clock_gettime(clockid_t, struct timespec *);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time) {
  if (!fuzz_active) return __real_clock_gettime(clock, time);
  FAULT(-1);
  fuzz_pass((uint64_t)plan.clock_step * 1000000);
  uint64_t now = clock == CLOCK_REALTIME ? wall : boot;
  *time = (struct timespec){.tv_sec = (time_t)(now / 1000000000), .tv_nsec = (long)(now % 1000000000)};
  return 0;
}

extern int __real_nanosleep(const struct timespec *, struct timespec *);

int __wrap_nanosleep(const struct timespec *duration, struct timespec *rest) {
  if (!fuzz_active) return __real_nanosleep(duration, rest);
  fuzz_pass((uint64_t)duration->tv_sec * 1000000000 + (uint64_t)duration->tv_nsec);
  sleeps++;
  if (sleeps > most_sleeps) fuzz_fail("a wait that doesn't end");
  if (sleeps == plan.record_held && plan.record_held != fuzz_never) give_back(&record_holder);
  if (sleeps == plan.slots_held && plan.slots_held < fuzz_never - 1) give_back(&slots_holder);
  if (plan.moves && slots_holder >= 0) futimens(slots_holder, NULL);
  return 0;
}

extern int __real_poll(struct pollfd *, nfds_t, int);

int __wrap_poll(struct pollfd *files, nfds_t count, int milliseconds) {
  if (!fuzz_active) return __real_poll(files, count, milliseconds);
  FAULT(-1);
  int ready = __real_poll(files, count, 0);
  if (ready == 0) fuzz_pass((uint64_t)milliseconds * 1000000);
  return ready;
}

/* MARK: Files */

/* A path below the module's root; what the kernel shows is the machine's. */
static int is_below_root(const char *path) {
  return path[0] == '/' && strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/dev/", 5) != 0;
}

static const char *below_root(const char *path) { return path[1] ? path + 1 : "."; }

extern int __real_openat(int, const char *, int, ...);

int __wrap_openat(int directory, const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
  va_end(list);
  if (!fuzz_active) return __real_openat(directory, path, flags, mode);
  FAULT(-1);
  if (!(flags & O_CLOEXEC)) fuzz_fail("a file that children inherit");
  if (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) seen.made++;
  if (is_below_root(path)) return __real_openat(fuzz_root, below_root(path), flags, mode);
  return __real_openat(directory, path, flags, mode);
}

static void spoil(struct stat *status, uint8_t how) {
  switch (how & 7) {
  case 0: status->st_uid = 1001; break;
  case 1: status->st_mode |= 022; break;
  case 2: status->st_nlink = 2; break;
  case 3: status->st_mode = (status->st_mode & 07777) | S_IFIFO; break;
  case 4: status->st_size++; break;
  case 5: status->st_mode = (status->st_mode & 07777) | S_IFLNK; break;
  case 6: status->st_size = INT64_MAX; break;
  default: status->st_mode |= 0004; status->st_size = -1;
  }
}

extern int __real_fstatat(int, const char *, struct stat *, int);

int __wrap_fstatat(int directory, const char *path, struct stat *status, int flags) {
  if (!fuzz_active) return __real_fstatat(directory, path, status, flags);
  /* A socket's is the kernel's own, and no file system's that may fail: by it a connection is known again. */
  if (*path == 0 && __real_fstatat(directory, path, status, flags) == 0 && S_ISSOCK(status->st_mode)) return 0;
  uint8_t detail;
  int error = fuzz_fault(&detail);
  if (error > 0) {
    errno = error;
    return -1;
  }
  int is_own = is_below_root(path);
  int result = __real_fstatat(is_own ? fuzz_root : directory, is_own ? below_root(path) : path, status, flags);
  if (result == 0 && error < 0) spoil(status, detail);
  return result;
}

extern int __real_mkdir(const char *, mode_t);

int __wrap_mkdir(const char *path, mode_t mode) {
  if (!fuzz_active) return __real_mkdir(path, mode);
  FAULT(-1);
  return mkdirat(fuzz_root, below_root(path), mode);
}

/* Some of the bytes, or none. */
static size_t some(size_t count, uint8_t detail) { return detail & 1 ? 0 : count > 1 ? count / 2 : count; }

extern ssize_t __real_pread(int, void *, size_t, off_t);

ssize_t __wrap_pread(int file, void *bytes, size_t count, off_t offset) {
  if (!fuzz_active) return __real_pread(file, bytes, count, offset);
  uint8_t detail;
  int error = fuzz_fault(&detail);
  if (error > 0) {
    errno = error;
    return -1;
  }
  return __real_pread(file, bytes, error < 0 ? some(count, detail) : count, offset);
}

extern ssize_t __real_pwrite(int, const void *, size_t, off_t);

ssize_t __wrap_pwrite(int file, const void *bytes, size_t count, off_t offset) {
  if (!fuzz_active) return __real_pwrite(file, bytes, count, offset);
  uint8_t detail;
  int error = fuzz_fault(&detail);
  if (error > 0) {
    errno = error;
    return -1;
  }
  written++;
  return __real_pwrite(file, bytes, error < 0 ? some(count, detail) : count, offset);
}

#define PASS(name, parameters, arguments)                \
  extern int __real_##name parameters;                   \
  int __wrap_##name parameters {                         \
    if (!fuzz_active) return __real_##name arguments;    \
    FAULT(-1);                                           \
    return __real_##name arguments;                      \
  }

PASS(fsync, (int file), (file))
PASS(futimens, (int file, const struct timespec *times), (file, times))
PASS(ftruncate, (int file, off_t size), (file, size))
PASS(fchown, (int file, uid_t owner, gid_t group), (file, owner, group))
PASS(fchmod, (int file, mode_t mode), (file, mode))
PASS(linkat, (int from, const char *old, int to, const char *new, int flags), (from, old, to, new, flags))
PASS(sched_getaffinity, (pid_t process, size_t size, cpu_set_t *set), (process, size, set))

extern int __real_fdatasync(int);

int __wrap_fdatasync(int file) {
  if (!fuzz_active) return __real_fdatasync(file);
  FAULT(-1);
  written = 0;
  synced++;
  return 0;
}

/* MARK: Locks */

extern int __real_flock(int, int);

int __wrap_flock(int file, int operation) {
  if (!fuzz_active) return __real_flock(file, operation);
  if (operation == LOCK_UN) {
    locks--;
    return __real_flock(file, operation);
  }
  if (!(operation & LOCK_NB)) fuzz_fail("a wait that nothing ends");
  FAULT(-1);
  int result = __real_flock(file, operation);
  if (result == 0) locks++;
  return result;
}

extern int __real_cs_set_lock(int, short, off_t);

int __wrap_cs_set_lock(int file, short type, off_t byte) {
  if (!fuzz_active) return __real_cs_set_lock(file, type, byte);
  if (type == F_WRLCK) FAULT(-1);
  int result = __real_cs_set_lock(file, type, byte);
  if (result == 0) locks += type == F_WRLCK ? 1 : -1;
  return result;
}

/* MARK: Signals */

extern int __real_pthread_sigmask(int, const sigset_t *, sigset_t *);

int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before) {
  if (!fuzz_active) return __real_pthread_sigmask(how, set, before);
  if (how != SIG_SETMASK) fuzz_fail("signals are blocked one by one");
  if (before != NULL) *before = blocked;
  if (set != NULL) blocked = *set;
  return 0;
}
