/* What passcode-finger needs of libsystemd and of the kernel. No policy here. */
#pragma once
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-login.h>
#include <unistd.h>

/* A descriptor that can be read when the process has ended that made the connection which is our standard input, and its
   number; or an errno as a negative number: EPERM where its uid wasn't our effective one. */
int cb_watch_peer(pid_t *number);
