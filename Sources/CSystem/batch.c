#define _GNU_SOURCE
#include "tool.h"

#include <sys/eventfd.h>

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

void cs_hold_pauses(void) {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGTSTP);
  sigaddset(&held, SIGTTIN);
  sigaddset(&held, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &held, NULL);
}

static void held_stops(sigset_t *pending) {
  sigset_t held;
  stops(&held);
  sigpending(pending);
  sigandset(pending, pending, &held);
}

int cs_stop_is_held(void) {
  sigset_t pending;
  held_stops(&pending);
  return !sigisemptyset(&pending);
}

void cs_pass_on_stops(pid_t process) {
  sigset_t pending;
  held_stops(&pending);
  for (int number = 1; number < NSIG; number++)
    if (sigismember(&pending, number) == 1) kill(process, number);
}

int cs_bell(void) {
  return cs_above_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

void cs_ring(int bell) {
  eventfd_write(bell, 1);
}

void cs_await(int bell, int milliseconds) {
  struct pollfd wait = {.fd = bell, .events = POLLIN};
  eventfd_t rings;
  if (poll(&wait, 1, milliseconds) > 0) eventfd_read(bell, &rings);
}

int cs_touch_access(int file) {
  const struct timespec times[] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
  return futimens(file, times);
}
