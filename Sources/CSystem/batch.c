#define _GNU_SOURCE
#include "tool.h"

#include <sys/prctl.h>

pid_t cs_fork_worker(int *result) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  pid_t parent = getpid();
  uint64_t before = cs_block_signals();
  pid_t child = fork();
  if (child == 0) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(1);
  }
  if (child != 0) cs_restore_signals(before);
  close(ends[child != 0]);
  if (child < 0)
    close(ends[0]);
  else
    *result = cs_above_standard(ends[child == 0]);
  return child;
}

void cs_widen(int pipe) {
  fcntl(pipe, F_SETPIPE_SZ, 1 << 20);
}

/* A signal that is ignored (nohup, a shell's &) stays ignored: Linux would keep it pending once it is blocked. */
static void stops(sigset_t *set) {
  static const int all[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  sigemptyset(set);
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    struct sigaction now;
    if (sigaction(all[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(set, all[i]);
  }
}

void cs_hold_stops(void) {
  sigset_t held;
  stops(&held);
  pthread_sigmask(SIG_BLOCK, &held, NULL);
}

int cs_stop_is_held(void) {
  sigset_t held, pending;
  stops(&held);
  sigpending(&pending);
  sigandset(&pending, &pending, &held);
  return !sigisemptyset(&pending);
}

int cs_touch_access(int file) {
  const struct timespec times[] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
  return futimens(file, times);
}
