/* A helper that answers what the input says: a whole reply, a part of one, anything, or nothing. */
#define _GNU_SOURCE
#include "world.h"

#include "csystem.h"

static int peer = -1, replies;

void fuzz_helper_begin(void) {
  peer = -1;
  replies = 0;
}

void fuzz_helper_end(void) {
  if (peer >= 0) close(peer);
  peer = -1;
}

int __wrap_cs_start_program(const uint8_t *path, int takes_proof, int *connection, pid_t *child) {
  (void)takes_proof;
  uint8_t detail;
  int error = fuzz_fault(&detail), ends[2];
  (void)path;
  if (plan.real == 0) fuzz_fail("root starts a helper");
  seen.starts++;
  if (error > 0) return error;
  fuzz_helper_end();
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
  *connection = ends[0];
  peer = ends[1];
  *child = 4000000;
  return 0;
}

static void reply(void) {
  int text = fuzz_reply_to_look + (replies < 2 ? replies : 1);
  const char *bytes = fuzz_text(text);
  size_t length = fuzz_text_length(text);
  replies++;
  if (bytes == NULL || peer < 0) return;
  send(peer, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
  /* After `open` it waits; else that was all. */
  if (!(length > 1 && bytes[1] == 16)) shutdown(peer, SHUT_WR);
}

extern ssize_t __real_send(int, const void *, size_t, int);

ssize_t __wrap_send(int file, const void *bytes, size_t count, int flags) {
  if (!fuzz_active) return __real_send(file, bytes, count, flags);
  if (!(flags & MSG_NOSIGNAL)) fuzz_fail("SIGPIPE could come");
  if (seen.sent_count + count <= sizeof seen.sent) {
    memcpy(seen.sent + seen.sent_count, bytes, count);
    seen.sent_count += count;
  }
  ssize_t result = __real_send(file, bytes, count, flags);
  /* Each request begins with its head, in a piece of its own; a passcode follows in another one. */
  if (count >= 10) {
    seen.sends++;
    fuzz_active = 0;
    reply();
    fuzz_active = 1;
  }
  return result;
}

void __wrap_cs_reap(uid_t user) { (void)user; }

pid_t __wrap_waitpid(pid_t process, int *status, int options) {
  (void)status, (void)options;
  return process;
}

uint64_t __wrap_cs_processor_time(pid_t process) {
  (void)process;
  return 1;
}
