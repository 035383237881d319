/* What Swift can't say of libc, for other programs than the module and the helper: these need only csystem.h. */
#pragma once
#include "csystem.h"

#include <dirent.h>
#include <dlfcn.h>
#include <grp.h>
#include <shadow.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

/* Whether the shadow database has a password for this name that can be typed: 0 where it is empty or locked; -1 where there is
   no entry, or none can be read. */
int cs_has_password(const uint8_t *name);
/* The device that it is, or that it lies on. */
static inline dev_t cs_device(const struct stat *status) { return S_ISBLK(status->st_mode) ? status->st_rdev : status->st_dev; }
static inline unsigned int cs_major(const struct stat *status) { return gnu_dev_major(cs_device(status)); }
static inline unsigned int cs_minor(const struct stat *status) { return gnu_dev_minor(cs_device(status)); }
static inline int cs_duplicate(int file) { return fcntl(file, F_DUPFD_CLOEXEC, 3); }
/* The next entry's name; NULL at the end, and then errno is 0, or why there may be more. d_name is an array, which Swift sees
   as a tuple. */
static inline const char *cs_next_name(DIR *stream) {
  errno = 0;
  struct dirent *entry = readdir(stream);
  return entry ? entry->d_name : NULL;
}
/* Puts the numbers in ascending order. */
void cs_sort(uint32_t *numbers, size_t count);
/* A local time as seconds since 1970, so many minutes after its day began; -1 if there is no such day. */
int64_t cs_local_seconds(int year, int month, int day, int minutes);
/* The path of the file that this program was started from, without a NUL: how many bytes, or -1. */
ssize_t cs_program_path(uint8_t *path, size_t room);
/* Whether no other open description has this byte locked: F_OFD_GETLK. */
int cs_is_unlocked(int file, off_t byte);
/* A handle of a process, which no other process ever gets: pidfd_open. */
int cs_open_process(pid_t process);
/* Ends it by SIGKILL, and waits for up to a second: 1, it has ended. */
int cs_end_process(int handle);
/* Whether a process has the file that is open here open, too, with a lock of flock(2) on it. */
int cs_holds_lock(pid_t process, int file);
/* Removes a directory and all in it, following no link and crossing no mount. */
void cs_remove_tree(const char *path);

/* What ends or stops a program from its terminal concerns this one no more, until that is restored. */
enum { CS_INTERRUPTS = 5 };
typedef struct {
  struct sigaction actions[CS_INTERRUPTS];
} cs_dispositions;
void cs_ignore_interrupts(cs_dispositions *before);
void cs_restore_interrupts(const cs_dispositions *before);
int cs_input_is_ready(int milliseconds);
/* Becomes another program, with one argument and our environment. An errno. */
int cs_execute(const uint8_t *program, const uint8_t *argument);
/* The program's own language: that of its environment, or English again. For a program's main thread, never a module. */
void cs_use_language(int of_environment);
/* The system's words for an error number, in that language. */
const char *cs_translated_error(int error);

/* version.c: the note that names the package's version: its size, and where in it the version starts, up to a NUL. */
const uint8_t *cs_version_note(size_t *size, size_t *start);

/* arguments.c: one of the program's arguments; NULL: there is none. */
const char *cs_argument(int index);
/* Becomes another program, which gets the arguments from `first` on (at least 1), a usual PATH, SUDO_USER and the language
   (LANG, LANGUAGE, LC_ALL, LC_MESSAGES). An errno. */
int cs_pass_on(const char *program, int first);

/* options.c: getopt_long over those arguments. */
typedef struct {
  const char *name;
  int takes_value;
} cs_option;
/* The next option's index in the table; -1 at the end; -2 for one that isn't there (cs_option_text is it); -3 for one
   that lacks its value, -4 for one that takes none and got one (cs_option_at_fault is its index). Options may stand
   anywhere before a "--". */
int cs_next_option(const cs_option *table, int count);
int cs_option_at_fault(void);
const char *cs_option_value(void);
const char *cs_option_text(void);
/* After the last option: the index of the first operand in cs_argument. */
int cs_first_operand(void);

/* terminal.c: reads a line from a terminal that doesn't show it. Returns the number of bytes before the
   newline (what is over size is read and counted, not kept), or -1 (errno), or -2 for end of file before
   a newline, or -3 when a signal that ends programs came (*signal). The terminal is as it was before in
   every case. After Ctrl-Z and `fg` the prompt is written again. */
ssize_t cs_read_hidden(int terminal, const char *prompt, char *line, size_t size, int *signal);

/* sealing.c: has systemd-creds(1) seal so many bytes (at most 4,096) with the TPM, bound to these PCRs, or, where these
   are NULL, open what was sealed; it is ended after so many seconds. *count is how many bytes came; one above the room
   where there were more. NULL, or its own last words, or the system's, until the next call. */
const char *cs_seal(const uint8_t *pcrs, const void *input, size_t size, void *output, size_t room, size_t *count,
                    unsigned seconds);
/* Mounts an empty ramfs for root alone. */
int cs_mount_ramfs(const uint8_t *path);
/* The kernel's number for the kind of file system that an open file lies on; -1 where that can't be told. */
int64_t cs_file_system(int file);
/* batch.c: forks, with a pipe from the copy to this process; each gets its own end. The copy has all
   signals blocked, and is killed when this process ends. Returns as fork does. */
pid_t cs_fork_worker(int *result);
/* Makes room for 1 MiB in a pipe, if that is allowed. */
void cs_widen(int pipe);
/* From here on, signals that ask a program to stop (Ctrl-C, a closed window, a shutdown) stay pending, unless they are
   ignored; whether one is pending. */
void cs_hold_stops(void);
int cs_stop_is_held(void);
/* Sets the time of the last access to now, and no other time. */
int cs_touch_access(int file);

/* fleet.c. Connects to a port of this machine, with 2 s for each send; own is this end's port. -1: errno. */
int cs_connect_loopback(uint16_t port, uint16_t *own);
/* A socket, as the kernel shows it. inode 0: no process has it. */
struct cs_socket {
  bool established, opening;
  uint32_t user, inode;
};
/* The other end of such a connection: sock_diag(7). 0, or an errno; ENOENT also where the kernel can't answer that. */
int cs_loopback_peer(uint16_t port, uint16_t own, struct cs_socket *peer);
/* Whether a line of the file is this one: 1, 0, or -1: errno. Reads 64 KiB at a time; EFBIG if a line has more. */
int cs_has_line(int file, const uint8_t *line, size_t length);
/* Connects to a socket in the file system, and waits so many seconds for room in its queue (else EAGAIN). -1: errno. */
int cs_connect_path(const uint8_t *path, unsigned seconds);
/* Leaves every supplementary group: for root. 0, or an errno. */
int cs_leave_groups(void);
/* Who is at the other end of a connection of this machine, or listens there; -1: not known. */
uid_t cs_peer_user(int connection);
/* Starts this program anew for each connection to the socket that systemd handed over (sd_listen_fds(3)), which becomes
   its standard input. Returns an errno when it has closed a connection, and can be called again: EBUSY where `most` such
   programs run, or what kept this one from starting. Otherwise `ended` is set; ENOTSOCK: there is no such socket. */
int cs_accept(unsigned most, bool *ended);
