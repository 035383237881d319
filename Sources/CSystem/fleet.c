#define _GNU_SOURCE
#include "tool.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>

int cs_connect_loopback(uint16_t port, uint16_t *own) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  int file = cs_above_standard(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (file < 0) return -1;
  /* On this machine it is taken or refused at once, but for a full queue. */
  struct timeval limit = {.tv_sec = 2};
  if (setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
      connect(file, (struct sockaddr *)&address, sizeof address) != 0 ||
      getsockname(file, (struct sockaddr *)&address, &size) != 0) {
    int error = errno;
    close(file);
    errno = error;
    return -1;
  }
  *own = ntohs(address.sin_port);
  return file;
}

/* The answer is there when sendto returns, so this never waits. */
static int ask_kernel(int file, struct inet_diag_req_v2 *question, struct inet_diag_msg *answer) {
  struct {
    struct nlmsghdr head;
    struct inet_diag_req_v2 question;
  } request = {{.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST}, *question};
  struct sockaddr_nl kernel = {.nl_family = AF_NETLINK}, sender = {0};
  socklen_t size = sizeof sender;
  union {
    struct nlmsghdr head;
    uint8_t bytes[4096];
  } reply;
  if (sendto(file, &request, sizeof request, 0, (struct sockaddr *)&kernel, sizeof kernel) != sizeof request) return errno;
  ssize_t got = recvfrom(file, &reply, sizeof reply, MSG_DONTWAIT, (struct sockaddr *)&sender, &size);
  if (got < 0) return errno;
  if (size != sizeof sender || sender.nl_pid != 0 || got < (ssize_t)NLMSG_LENGTH(sizeof *answer) ||
      reply.head.nlmsg_type != SOCK_DIAG_BY_FAMILY || reply.head.nlmsg_len < NLMSG_LENGTH(sizeof *answer))
    return ENOENT;
  memcpy(answer, NLMSG_DATA(&reply.head), sizeof *answer);
  return 0;
}

int cs_loopback_peer(uint16_t port, uint16_t own, struct cs_socket *peer) {
  struct inet_diag_req_v2 question = {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0U};
  struct inet_diag_msg answer;
  question.id.idiag_sport = htons(port);
  question.id.idiag_dport = htons(own);
  question.id.idiag_src[0] = question.id.idiag_dst[0] = htonl(INADDR_LOOPBACK);
  question.id.idiag_cookie[0] = question.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  int file = cs_above_standard(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (file < 0) return errno;
  int error = ask_kernel(file, &question, &answer);
  close(file);
  if (error != 0) return error;
  /* If no connection has these two ports, the answer is about the socket that listens. */
  if (answer.idiag_family != AF_INET || answer.id.idiag_sport != htons(port) || answer.id.idiag_dport != htons(own) ||
      answer.id.idiag_src[0] != htonl(INADDR_LOOPBACK) || answer.id.idiag_dst[0] != htonl(INADDR_LOOPBACK))
    return ENOENT;
  uint8_t state = answer.idiag_state;
  *peer = (struct cs_socket){state == TCP_ESTABLISHED, state == TCP_SYN_RECV, answer.idiag_uid, answer.idiag_inode};
  return 0;
}

int cs_connect_path(const uint8_t *path, unsigned seconds) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen((const char *)path);
  if (length >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(address.sun_path, path, length + 1);
  int file = cs_above_standard(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (file < 0) return -1;
  /* In a crowd those who listen there need a moment. */
  struct timeval limit = {.tv_sec = seconds};
  if (setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 || connect(file, (struct sockaddr *)&address, sizeof address) != 0) {
    int error = errno;
    close(file);
    errno = error;
    return -1;
  }
  return file;
}

int cs_leave_groups(void) {
  return setgroups(0, NULL) == 0 ? 0 : errno;
}

uid_t cs_peer_user(int connection) {
  struct ucred peer = {.uid = (uid_t)-1};
  socklen_t size = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.uid : (uid_t)-1;
}

/* Where the line begins, or less than a block before, if the list is in the order of sort(1) in C, as the script that adds
   workstations keeps it: in a few reads of a list of any length. */
static off_t place_in_order(int file, const uint8_t *line, size_t length) {
  uint8_t block[512];
  struct stat status;
  off_t low = 0, high = fstat(file, &status) == 0 ? status.st_size : 0;
  while (high - low > (off_t)sizeof block) {
    off_t middle = low + (high - low) / 2;
    ssize_t got = pread(file, block, sizeof block, middle);
    uint8_t *end = got > 0 ? memchr(block, '\n', (size_t)got) : NULL;
    if (!end) break;
    off_t next = middle + (end - block) + 1;
    got = pread(file, block, sizeof block, next);
    if (got < 0) break;
    /* A shorter line has its newline where ours has a character, which is higher. */
    int order = memcmp(block, line, (size_t)got < length ? (size_t)got : length);
    if (order > 0 || (order == 0 && (size_t)got > length && block[length] != '\n')) {
      high = middle + 1;
    } else {
      low = next;
    }
  }
  return low;
}

/* From the beginning of a line on: in a block, or to the end. 1, 0, or -1 with errno. */
static int search(int file, off_t place, int isOneBlock, const uint8_t *line, size_t length) {
  uint8_t block[1 << 16];
  size_t kept = 0;
  for (;;) {
    ssize_t more = pread(file, block + kept, sizeof block - kept, place);
    if (more < 0) {
      if (errno == EINTR) continue;
      return -1;
    }
    place += more;
    uint8_t *start = block, *end = block + kept + more;
    while (start < end) {
      uint8_t *stop = memchr(start, '\n', (size_t)(end - start));
      if (!stop && more > 0) break;
      if (!stop) stop = end;
      if ((size_t)(stop - start) == length && memcmp(start, line, length) == 0) return 1;
      start = stop + 1;
    }
    if (more == 0 || isOneBlock) return 0;
    kept = start < end ? (size_t)(end - start) : 0;
    if (kept == sizeof block) {
      errno = EFBIG;
      return -1;
    }
    memmove(block, start, kept);
  }
}

int cs_has_line(int file, const uint8_t *line, size_t length) {
  if (search(file, place_in_order(file, line, length), 1, line, length) == 1) return 1;
  return search(file, 0, 0, line, length);
}
