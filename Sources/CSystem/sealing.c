/* systemd-creds(1) for root's tool: bytes in, bytes out, by pipes. */
#define _GNU_SOURCE
#include "tool.h"

#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/vfs.h>

extern char **environ;

#define PROGRAM "/usr/bin/systemd-creds"
/* Binds what is sealed to its purpose. */
#define NAME "--name=passcode.key"

static int make_pipe(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  ends[0] = cs_above_standard(ends[0]);
  ends[1] = cs_above_standard(ends[1]);
  return ends[0] < 0 || ends[1] < 0 ? EMFILE : 0;
}

static int start(char *const *arguments, int ends[3][2], pid_t *child) {
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error != 0) return error;
  for (int i = 0; i < 3 && error == 0; i++) error = posix_spawn_file_actions_adddup2(&actions, ends[i][i > 0], i);
  if (error == 0) error = posix_spawn(child, arguments[0], &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

typedef struct {
  uint8_t *bytes;
  size_t room, count;
} buffer;

/* More of it; 0 at the end. What doesn't fit is counted as one byte too many, and not kept. */
static ssize_t take(int file, buffer *into) {
  uint8_t rest[64];
  int fits = into->count < into->room;
  ssize_t got = fits ? read(file, into->bytes + into->count, into->room - into->count) : read(file, rest, sizeof rest);
  if (got > 0) into->count = fits ? into->count + (size_t)got : into->room + 1;
  explicit_bzero(rest, sizeof rest);
  return got;
}

/* Until both ends are closed; ETIMEDOUT where that takes longer than so many milliseconds. */
static int take_both(const int ends[2], buffer into[2], uint64_t patience) {
  struct pollfd files[] = {{.fd = ends[0], .events = POLLIN}, {.fd = ends[1], .events = POLLIN}};
  const uint64_t start = cs_clock(CLOCK_MONOTONIC);
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    const uint64_t gone = (cs_clock(CLOCK_MONOTONIC) - start) / 1000000;
    int ready = gone < patience ? poll(files, 2, (int)(patience - gone)) : 0;
    if (ready == 0) return ETIMEDOUT;
    if (ready < 0 && errno != EINTR) return errno;
    for (int i = 0; i < 2 && ready > 0; i++)
      if (files[i].fd >= 0 && files[i].revents != 0 && take(files[i].fd, &into[i]) <= 0) files[i].fd = -1;
  }
  return 0;
}

/* The last line that isn't empty, without its full stop, as a C string at the beginning of the text. */
static void keep_last_line(char *text, size_t length) {
  while (length > 0 && strchr("\n .", text[length - 1])) length--;
  text[length] = '\0';
  const char *newline = strrchr(text, '\n');
  if (newline) memmove(text, newline + 1, strlen(newline));
}

const char *cs_seal(const uint8_t *pcrs, const void *input, size_t size, void *output, size_t room, size_t *count,
                    unsigned seconds) {
  static char said[512], bound[128];
  snprintf(bound, sizeof bound, "--tpm2-pcrs=%s", pcrs ? (const char *)pcrs : "");
  char *const encrypt[] = {PROGRAM, "encrypt", NAME, "--with-key=tpm2", bound, "-", "-", NULL};
  char *const decrypt[] = {PROGRAM, "decrypt", NAME, "-", "-", NULL};
  int ends[3][2], status = 0, error = 0;
  buffer into[] = {{output, room, 0}, {(uint8_t *)said, sizeof said - 1, 0}};
  pid_t child;
  memset(ends, -1, sizeof ends);
  for (int i = 0; i < 3 && error == 0; i++) error = make_pipe(ends[i]);
  /* It all fits into the pipe. */
  if (error == 0 && write(ends[0][1], input, size) != (ssize_t)size) error = EIO;
  if (error == 0) error = start(pcrs ? encrypt : decrypt, ends, &child);
  close(ends[0][0]), close(ends[0][1]), close(ends[1][1]), close(ends[2][1]);
  if (error == 0) {
    error = take_both((int[]){ends[1][0], ends[2][0]}, into, seconds * 1000);
    if (error != 0) kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  }
  close(ends[1][0]), close(ends[2][0]);
  *count = into[0].count;
  if (error == 0 && status == 0) return NULL;
  keep_last_line(said, into[1].count < sizeof said ? into[1].count : sizeof said - 1);
  if (error == ETIMEDOUT) snprintf(said, sizeof said, "%s: no answer within %u s", PROGRAM, seconds);
  else if (error != 0 || said[0] == '\0') snprintf(said, sizeof said, "%s: %s", PROGRAM, cs_error_text(error ? error : EIO));
  return said;
}

int cs_mount_ramfs(const uint8_t *path) {
  return mount("ramfs", (const char *)path, "ramfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700");
}

int64_t cs_file_system(int file) {
  struct statfs system;
  int result;
  do result = fstatfs(file, &system);
  while (result != 0 && errno == EINTR);
  return result == 0 ? (int64_t)system.f_type : -1;
}
