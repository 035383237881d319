#define _GNU_SOURCE
#include "csystem.h"


pid_t cs_fork_worker(int *connection) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  pid_t child = fork();
  *connection = cs_above_standard(ends[child == 0]);
  close(ends[child != 0]);
  return child;
}

static void stops(sigset_t *set) {
  static const int all[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  sigemptyset(set);
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) sigaddset(set, all[i]);
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
