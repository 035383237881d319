/* What passcode-finger needs of libsystemd and of the kernel. No policy here. */
#pragma once
#include <poll.h>
#include <stdlib.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-login.h>
#include <unistd.h>

/* A descriptor that can be read when our parent has ended; -1, or an errno as a negative number. It must be the process
   that made the connection which is our standard input. */
int cb_watch_parent(void);
/* Leaves the supplementary groups. 0, or an errno. */
int cb_leave_groups(void);
