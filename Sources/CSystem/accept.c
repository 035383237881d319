#define _GNU_SOURCE
#include "tool.h"

#include <spawn.h>
#include <sys/auxv.h>

extern char **environ;

/* Does nothing: its purpose is to interrupt ppoll. */
static void child_has_ended(int signal) {
  (void)signal;
}

/* By the path that this program was started by: after an upgrade, the new program is there. */
static int start_again(int connection, const sigset_t *mask) {
  const char *path = (const char *)getauxval(AT_EXECFN);
  char *const words[] = {(char *)path, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  pid_t child;
  if (posix_spawn_file_actions_init(&actions) != 0) return ENOMEM;
  int error = posix_spawnattr_init(&attributes);
  if (error == 0) {
    error = posix_spawn_file_actions_adddup2(&actions, connection, 0);
    if (error == 0) error = posix_spawnattr_setsigmask(&attributes, mask);
    if (error == 0) error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    if (error == 0) error = posix_spawn(&child, path, &actions, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

enum { LISTENER = 3 };
static sigset_t usual_mask;
static unsigned running;

static int prepare(void) {
  static bool is_prepared;
  struct sigaction action = {.sa_handler = child_has_ended};
  sigset_t blocked;
  int listens = 0;
  socklen_t size = sizeof listens;
  if (is_prepared) return 0;
  int error = cs_forbid_dumps();
  if (error != 0) return error;
  if (getsockopt(LISTENER, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens) return ENOTSOCK;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGCHLD);
  if (fcntl(LISTENER, F_SETFD, FD_CLOEXEC) != 0 || sigaction(SIGCHLD, &action, NULL) != 0 ||
      sigprocmask(SIG_BLOCK, &blocked, &usual_mask) != 0)
    return errno;
  sigdelset(&usual_mask, SIGCHLD);
  is_prepared = true;
  return 0;
}

/* The next connection; -1: none yet, or errno. */
static int next_connection(void) {
  struct pollfd ready = {.fd = LISTENER, .events = POLLIN};
  while (running > 0 && waitpid(-1, NULL, WNOHANG) > 0) running--;
  /* A child that ends from here on ends this wait, too. */
  if (ppoll(&ready, 1, NULL, &usual_mask) < 0) return -1;
  return accept4(LISTENER, NULL, NULL, SOCK_CLOEXEC);
}

int cs_accept(unsigned most, bool *ended) {
  int error = prepare();
  while (error == 0) {
    int connection = next_connection();
    if (connection >= 0) {
      error = running < most ? start_again(connection, &usual_mask) : EBUSY;
      close(connection);
      if (error != 0) return error;
      running++;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      usleep(100000); /* It stays in the queue. */
    } else if (errno != EINTR && errno != EAGAIN && errno != ECONNABORTED) {
      error = errno;
    }
  }
  *ended = true;
  return error;
}
