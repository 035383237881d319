#define _GNU_SOURCE
#include "cbus.h"

#include <sys/pidfd.h>
#include <sys/socket.h>

/* Since Linux 6.5; glibc has no name for it. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int cb_watch_peer(pid_t *number) {
  struct ucred peer = {.pid = -1, .uid = (uid_t)-1};
  int file = -1;
  socklen_t size = sizeof peer;
  if (getsockopt(0, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -errno;
  if (peer.uid != geteuid()) return -EPERM;
  *number = peer.pid;
  size = sizeof file;
  if (getsockopt(0, SOL_SOCKET, SO_PEERPIDFD, &file, &size) == 0) return file;
  if (errno == ENOPROTOOPT) file = pidfd_open(peer.pid, 0);
  return file < 0 ? -errno : file;
}
