// Starts a program for traced.py, as somebody, and stopped at the calls that are listed below:
//
//   traced UID GID COMMAND…    waits for its tracer, then becomes COMMAND.
//   traced calls               prints the numbers of these calls: NAME NUMBER, a line each.
//
// A seccomp filter stops only at these calls, so that everything else runs at full speed.
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <grp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
  const char *name;
  int number;
} calls[] = {
#define CALL(name) {#name, SYS_##name},
    // What others can see, or what sees others.
    CALL(openat) CALL(flock) CALL(fcntl) CALL(pread64) CALL(pwrite64) CALL(fstat) CALL(newfstatat)
    CALL(fdatasync) CALL(fsync) CALL(fchmod) CALL(fchown) CALL(utimensat) CALL(linkat) CALL(unlinkat) CALL(ftruncate)
    CALL(renameat) CALL(renameat2) CALL(mkdirat) CALL(getdents64) CALL(pidfd_send_signal)
    // The clock, and host.c's mark where a hash begins.
    CALL(clock_gettime) CALL(nanosleep) CALL(clock_nanosleep) CALL(getsid)
};
enum { COUNT = sizeof calls / sizeof *calls };

static void stop_at_calls(void) {
  struct sock_filter filter[COUNT + 3];
  filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int index = 0; index < COUNT; index++)
    filter[index + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[index].number, COUNT - index, 0);
  filter[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  filter[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
  struct sock_fprog program = {COUNT + 3, filter};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) abort();
}

int main(int count, char **arguments) {
  if (count == 2 && strcmp(arguments[1], "calls") == 0) {
    for (int index = 0; index < COUNT; index++) printf("%s %d\n", calls[index].name, calls[index].number);
    return 0;
  }
  if (count < 4) return 2;
  gid_t group = strtoul(arguments[2], NULL, 10);
  uid_t user = strtoul(arguments[1], NULL, 10);
  ptrace(PTRACE_TRACEME, 0, NULL, NULL);
  raise(SIGSTOP);
  stop_at_calls();
  if (setgroups(0, NULL) != 0 || setresgid(group, group, group) != 0 || setresuid(user, user, user) != 0) return 2;
  execv(arguments[3], arguments + 3);
  return 2;
}
