#define _GNU_SOURCE
#include "tool.h"

#include <poll.h>
#include <signal.h>
#include <termios.h>

/* The signals that a terminal or a session manager sends; the others keep their way. */
static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGALRM, SIGPIPE};
enum { caught_count = sizeof caught / sizeof caught[0] };

static volatile sig_atomic_t arrived[NSIG];

static void note(int signal) {
  arrived[signal] = 1;
}

static int is_stop(int signal) {
  return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

static int write_all(int file, const char *text) {
  size_t left = strlen(text);
  while (left > 0) {
    ssize_t written = write(file, text, left);
    if (written < 0) return -1;
    text += written;
    left -= (size_t)written;
  }
  return 0;
}

static int has_arrived(void) {
  for (int i = 0; i < caught_count; i++)
    if (arrived[caught[i]]) return 1;
  return 0;
}

/* Until there is something to read: 0. A signal ends it, also one that came just before: -1 with EINTR. */
static int wait_for_input(int terminal) {
  struct pollfd input = {.fd = terminal, .events = POLLIN};
  sigset_t ours, before;
  sigemptyset(&ours);
  for (int i = 0; i < caught_count; i++) sigaddset(&ours, caught[i]);
  pthread_sigmask(SIG_BLOCK, &ours, &before);
  int result = -1, error = EINTR;
  while (result < 0 && error == EINTR && !has_arrived()) {
    result = ppoll(&input, 1, NULL, &before);
    error = errno;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return result < 0 ? -1 : 0;
}

/* Reads to the newline. Interrupted by a signal: -1 with EINTR. */
static ssize_t read_line(int terminal, char *line, size_t size) {
  size_t length = 0;
  for (;;) {
    char byte;
    if (wait_for_input(terminal) != 0) return -1;
    ssize_t got = read(terminal, &byte, 1);
    if (got < 0) return -1;
    if (got == 0) return -2;
    if (byte == '\n') return (ssize_t)length;
    if (length < size) line[length] = byte;
    length++;
    byte = 0;
    __asm__ volatile("" : : "r"(&byte) : "memory");
  }
}

/* One round: hidden reading with the handlers in place, and everything put back. */
static ssize_t read_once(int terminal, const char *prompt, char *line, size_t size) {
  struct sigaction action = {.sa_handler = note}, before[caught_count];
  struct termios shown, hidden;
  if (tcgetattr(terminal, &shown) != 0) return -1;
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < caught_count; i++) sigaction(caught[i], &action, &before[i]);

  hidden = shown;
  hidden.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK);
  hidden.c_lflag |= ICANON | ISIG | ECHONL;
  ssize_t result = -1;
  /* First hidden, then asked: a background process stops without a word. */
  if (tcsetattr(terminal, TCSAFLUSH, &hidden) == 0 && write_all(terminal, prompt) == 0)
    result = read_line(terminal, line, size);
  int error = errno;

  /* TCSAFLUSH, too: what was typed after a Ctrl-C must not show up on the next program's prompt. TTOU is
     still caught here; a background process tries again until it is told otherwise. */
  while (tcsetattr(terminal, TCSAFLUSH, &shown) != 0 && errno == EINTR && !arrived[SIGTTOU]) {}
  for (int i = 0; i < caught_count; i++) sigaction(caught[i], &before[i], NULL);
  errno = error;
  return result;
}

ssize_t cs_read_hidden(int terminal, const char *prompt, char *line, size_t size, int *signal) {
  for (;;) {
    for (int i = 0; i < caught_count; i++) arrived[caught[i]] = 0;
    ssize_t result = read_once(terminal, prompt, line, size);
    int stopped_by = 0;
    for (int i = 0; i < caught_count; i++) {
      if (!arrived[caught[i]]) continue;
      if (!is_stop(caught[i])) {
        *signal = caught[i];
        return -3;
      }
      stopped_by = caught[i];
    }
    if (stopped_by == 0) return result;
    /* The default action stops us here, with the terminal as it was; `fg` continues. */
    raise(stopped_by);
  }
}
