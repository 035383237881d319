#define _GNU_SOURCE
#include "csystem.h"

pid_t cs_fork_worker(int *result) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  pid_t child = fork();
  close(ends[child != 0]);
  if (child < 0)
    close(ends[0]);
  else
    *result = cs_above_standard(ends[child == 0]);
  return child;
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

void cs_hold_pauses(void) {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGTSTP);
  sigaddset(&held, SIGTTIN);
  sigaddset(&held, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &held, NULL);
}

int cs_stop_is_held(void) {
  sigset_t held, pending;
  stops(&held);
  sigpending(&pending);
  sigandset(&pending, &pending, &held);
  return !sigisemptyset(&pending);
}
