#define _GNU_SOURCE
#include "csystem.h"

#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>

int cs_start_program(const uint8_t *program, int takes_proof, int *connection, pid_t *child) {
  const char *path = (const char *)program;
  char *const arguments[] = {(char *)path, takes_proof ? "take-proof" : NULL, NULL}, *const environment[] = {NULL};
  posix_spawn_file_actions_t actions;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
  *connection = cs_above_standard(ends[0]);
  int error = *connection < 0 ? errno : posix_spawn_file_actions_init(&actions);
  if (error == 0) {
    /* Where its number is 0 already, this takes the close-on-exec from it (posix_spawn(3)). */
    error = posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
    if (error == 0) error = posix_spawn(child, path, &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
  }
  close(ends[1]);
  if (error != 0) close(*connection);
  return error;
}

int cs_connect_to_root(const char *path, int *connection) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  struct ucred peer = {.uid = (uid_t)-1};
  socklen_t size = sizeof peer;
  size_t length = strnlen(path, sizeof address.sun_path);
  if (length == sizeof address.sun_path) return ENAMETOOLONG;
  memcpy(address.sun_path, path, length);
  int file = cs_above_standard(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (file < 0) return errno;
  const int failed = connect(file, (struct sockaddr *)&address, sizeof address) != 0 ||
                     getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0;
  const int error = failed ? errno : peer.uid == 0 ? 0 : EPERM;
  if (error != 0) close(file);
  *connection = file;
  return error;
}

void cs_reap(uid_t user) {
  siginfo_t child;
  do child.si_pid = 0;
  while (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0 && child.si_pid != 0 && child.si_uid == user &&
         waitpid(child.si_pid, NULL, WNOHANG) > 0);
}

static int stop_timers(void) {
  const struct itimerval none = {0};
  const int timers[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
  for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++)
    if (setitimer(timers[i], &none, NULL) != 0) return errno;
  return 0;
}

static int reset_signals(void) {
  struct sigaction action = {.sa_handler = SIG_DFL};
  sigset_t none;
  sigemptyset(&none);
  sigemptyset(&action.sa_mask);
  /* The two that can't be set, and those that libc keeps for itself, say EINVAL. */
  for (int i = 1; i < _NSIG; i++)
    if (sigaction(i, &action, NULL) != 0 && errno != EINVAL) return errno;
  /* A limit of file sizes is then an error, which is answered and logged. */
  if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR) return errno;
  return sigprocmask(SIG_SETMASK, &none, NULL) == 0 ? 0 : errno;
}

static int close_descriptors(void) {
  int nothing = open("/dev/null", O_RDWR);
  if (nothing < 0) return errno;
  if (dup2(nothing, 1) < 0 || dup2(nothing, 2) < 0) return errno;
  return close_range(3, ~0U, 0) == 0 ? 0 : errno;
}

/* Descriptors that a request may need at once: store, record, slots, key, PAM and the accounts' libraries. */
enum { enough_descriptors = 32 };

/* As far as they are the caller's own choice: nobody needs a right for that. */
static int lift_limits(void) {
  const int limits[] = {RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_MEMLOCK, RLIMIT_NOFILE, RLIMIT_NPROC};
  for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
    struct rlimit limit;
    if (getrlimit(limits[i], &limit) != 0) return errno;
    limit.rlim_cur = limit.rlim_max;
    if (limits[i] == RLIMIT_NOFILE && limit.rlim_max < enough_descriptors) return EMFILE;
    if (setrlimit(limits[i], &limit) != 0) return errno;
  }
  return 0;
}

/* What may have been chosen to make us slow, and can be taken back. Not being faster is no error; a high niceness and
   SCHED_IDLE stay. */
static void take_own_share(void) {
  cpu_set_t all;
  memset(&all, 0xff, sizeof all);
  sched_setaffinity(0, sizeof all, &all);
  sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
  syscall(SYS_ioprio_set, 1, 0, 0);
  prctl(PR_SET_TIMERSLACK, 50000, 0, 0, 0);
}

int cs_forbid_dumps(void) {
  const struct rlimit none = {0, 0};
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 && setrlimit(RLIMIT_CORE, &none) == 0 ? 0 : errno;
}

int cs_lay_down_inheritance(unsigned seconds) {
  int error = cs_forbid_dumps();
  if (error == 0) error = reset_signals();
  if (error == 0) error = stop_timers();
  /* The last close of a file takes as long as its owner likes. */
  alarm(seconds);
  if (error == 0) error = close_descriptors();
  if (error == 0) error = lift_limits();
  if (error == 0 && (clearenv() != 0 || chdir("/") != 0)) error = errno;
  umask(077);
  return error;
}

int cs_become_wholly(uid_t user, gid_t group) {
  uid_t users[3];
  gid_t groups[3];
  /* systemd starts root's services as leaders of sessions. One that a user started would keep its terminal, which could
     stop it. */
  if ((setsid() == -1 && (getuid() != 0 || getsid(0) != getpid())) || setresgid(group, group, group) != 0 || setresuid(user, user, user) != 0) return errno;
  if (getresuid(&users[0], &users[1], &users[2]) != 0 || getresgid(&groups[0], &groups[1], &groups[2]) != 0) return errno;
  for (int i = 0; i < 3; i++)
    if (users[i] != user || groups[i] != group) return EPERM;
  /* Only now: until now its caller could have changed it again. */
  take_own_share();
  return cs_forbid_dumps();
}
