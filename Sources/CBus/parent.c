#define _GNU_SOURCE
#include "cbus.h"

#include <errno.h>
#include <grp.h>
#include <sys/pidfd.h>
#include <sys/socket.h>

int cb_watch_parent(void) {
  struct ucred peer = {.pid = -1};
  socklen_t size = sizeof peer;
  pid_t parent = getppid();
  if (getsockopt(0, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -errno;
  int file = pidfd_open(parent, 0);
  if (file < 0) return -errno;
  /* Asked after the pidfd was opened: it isn't that of a process which got the number since. */
  if (peer.pid == parent && getppid() == parent) return file;
  close(file);
  return -ESRCH;
}

int cb_leave_groups(void) {
  return setgroups(0, NULL) == 0 ? 0 : errno;
}
