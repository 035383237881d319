/* What Swift can't say of libc: variadic functions, macros, _GNU_SOURCE, signal handlers, argv.
   As little as each needs; no policy here. */
#pragma once
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

static inline int cs_errno(void) { return errno; }
/* Text comes as the bytes of an array that ends in NUL: Swift lends those as they are. */
int cs_openat(int directory, const uint8_t *name, int flags, mode_t mode);
/* Of a path, without following a link at its end; or of an open file, where that is NULL. */
int cs_status(int file, const uint8_t *path, struct stat *status);

/* The device that it is, or that it lies on. */
static inline dev_t cs_device(const struct stat *status) { return S_ISBLK(status->st_mode) ? status->st_rdev : status->st_dev; }
static inline unsigned int cs_major(const struct stat *status) { return gnu_dev_major(cs_device(status)); }
static inline unsigned int cs_minor(const struct stat *status) { return gnu_dev_minor(cs_device(status)); }

/* <string.h> stands in several of our C modules; Swift wants to know which one is meant. */
static inline void cs_copy(void *to, const void *from, size_t size) { memcpy(to, from, size); }
static inline size_t cs_length(const char *text, size_t most) { return strnlen(text, most); }
/* Each byte equals the one before it, and the first one is 0. */
static inline int cs_is_zero(const uint8_t *bytes, size_t size) {
  return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}
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
static inline void cs_sleep(struct timespec duration) { nanosleep(&duration, NULL); }

/* The kernel's words for an error number; never NULL. */
const char *cs_error_text(int error);
/* A caller that closed its standard streams must not have its messages written into our files: those are never
   0, 1 or 2. Gives an open one another number; -1 where there is none. */
int cs_above_standard(int file);
/* A nameless file in the directory; cs_link_file gives it a name. */
int cs_open_nameless(int directory, mode_t mode);
int cs_link_file(int file, int directory, const uint8_t *name);
/* Real, effective and saved uid. */
typedef struct {
  uid_t real, effective, saved;
} cs_ids;
cs_ids cs_user_ids(void);
/* The same, but where the real one is root and standard input a connection of this machine, that is who connected;
   -1 where that is root. */
cs_ids cs_peer_ids(void);
/* The same, but where the real one is root, that is the owner of the session of logind's that this process belongs to;
   -1 where that is root or can't be told, and where GDM's worker that is to authenticate somebody again belongs to none. */
cs_ids cs_session_ids(void);
/* Whether standard input is this terminal, named with or without /dev. */
int cs_input_is_terminal(const uint8_t *name);
/* The name of the file that this program was started from, which needs no system call; empty where its caller could
   choose that (AT_SECURE). */
const char *cs_program_name(void);
/* The program was started with more privilege than its caller has (AT_SECURE). */
int cs_is_secure(void);
/* Appends to the system log, facility authpriv, for a program (a module has pam_syslog). */
void cs_log(int priority, const char *text);
/* A clock in nanoseconds; UINT64_MAX if there is none. */
uint64_t cs_clock(clockid_t clock);
/* A local time as seconds since 1970, so many minutes after its day began; -1 if there is no such day. */
int64_t cs_local_seconds(int year, int month, int day, int minutes);
/* A moment in words (strftime), local or in UTC: how many bytes; 0 if it takes as many as there is room for, or if the
   calendar has none. */
size_t cs_format_time(time_t seconds, int local, const char *format, uint8_t *text, size_t room);
/* The path of the file that this program was started from, without a NUL: how many bytes, or -1. */
ssize_t cs_program_path(uint8_t *path, size_t room);
/* The processor time that a process has used, anybody's; UINT64_MAX where there is no such process. */
uint64_t cs_processor_time(pid_t process);
/* Maps and unmaps so many bytes; with touch, makes the kernel find them all. 0, or an errno. */
int cs_reserve_memory(size_t size, int touch);
/* Memory of the machine, in bytes; where unknown, 0 and UINT64_MAX. */
typedef struct {
  uint64_t all, free;
} cs_memory;
cs_memory cs_machine_memory(void);
/* The account of a name, or, where that is NULL, of *uid: its uid, its gid and its name.
   0, -1 if there is none, or an errno. */
int cs_find_account(const uint8_t *name, uid_t *uid, gid_t *gid, uint8_t *found, size_t size);
/* The GECOS field and the home directory of a uid, each cut to its room; empty where there is no such account. */
void cs_account_details(uid_t uid, uint8_t *gecos, uint8_t *home, size_t room);
/* Locks bytes of a file for its open description, exclusively (F_WRLCK), without waiting, or unlocks them
   (F_UNLCK): F_OFD_SETLK. */
int cs_set_lock(int file, short type, off_t start, off_t count);
/* Whether no other open description has any of these bytes locked: F_OFD_GETLK. */
int cs_is_unlocked(int file, off_t start, off_t count);
/* A handle of a process, which no other process ever gets: pidfd_open. */
int cs_open_process(pid_t process);
/* Ends it by SIGKILL, and waits for up to a second: 1, it has ended. */
int cs_end_process(int handle);
/* Whether a process has the file that is open here open, too, with a lock of flock(2) on it. */
int cs_holds_lock(pid_t process, int file);
/* kept.c. The memory: as sodium_malloc gave it. cs_keep_memory: 0, there is some already; the caller frees it.
   A boot's id has 36 bytes; cs_kept_boot_id: 0, not known yet. The service account's uid: -1, not known yet. */
void *cs_take_kept_memory(void);
int cs_keep_memory(void *memory);
int cs_kept_boot_id(uint8_t *text);
void cs_keep_boot_id(const uint8_t *text);
uid_t cs_kept_service(void);
void cs_keep_service(uid_t uid);
/* Processors that this process may use, and bytes of memory that the machine has; 0 where unknown. */
int cs_processors(void);
uint64_t cs_all_memory(void);
/* Blocks every signal that can be blocked, for this thread. Returns what was blocked before: Linux has 64 signals, and
   of glibc's 128 bytes the others are never used. */
uint64_t cs_block_signals(void);
void cs_restore_signals(uint64_t mask);

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
/* Settings of the build: where the helper is, the program at the fingerprint reader, the one that asks a fleet's verifier
   and libpam's modules, and the account that owns the store. Package.swift takes them from the environment; nothing at
   run time names others. */
const char *cs_helper_path(void);
/* Connects to a service of root's, without waiting. An errno: EPERM where the other end isn't root's. */
int cs_connect_to_root(const char *path, int *connection);
const char *cs_finger_path(void);
const char *cs_fleet_path(void);
const char *cs_verifier_path(void);
const char *cs_module_directory(void);
const char *cs_service_account(void);

/* language.c: the translation of a text in the language of the process's locale, by gettext; with a plural that isn't
   empty, the one that goes with the number. Never freed. NULL: there is none. */
const char *cs_translation(const uint8_t *text, const uint8_t *plural, unsigned long number);
/* The program's own language: that of its environment, or English again. For a program's main thread, never a module. */
void cs_use_language(int of_environment);
/* The system's words for an error number, in that language. */
const char *cs_translated_error(int error);

/* version.c: the note that names the package's version: its size, and where in it the version starts, up to a NUL. */
const uint8_t *cs_version_note(size_t *size, size_t *start);

/* arguments.c: the program's arguments. */
int cs_argument_count(void);
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

/* helper.c, the caller's side: starts a program at the other end of a socketpair, which is its standard input,
   with its own name as the only argument and no environment, in this process group. 0, the connection and its
   pid, or an errno. */
int cs_start_program(const uint8_t *path, int *connection, pid_t *child);

/* Reaps the children that have ended and that are this real user's, up to the first that isn't. */
void cs_reap(uid_t user);

/* helper.c, the helper's side. Each returns 0, or an errno; what fails may leave the rest undone. */
/* Lays down what was inherited: descriptors (but 0), environment, folder, umask, signal mask and dispositions,
   timers, limits that can be lifted, the right to a core dump and to be traced. From here on SIGXFSZ is ignored, and
   SIGALRM comes after so many seconds. */
int cs_lay_down_inheritance(unsigned seconds);
/* Forbids core dumps of this process, and tracing by anyone but root. 0, or an errno. */
int cs_forbid_dumps(void);
/* Becomes this user and group, real, effective and saved, in a session of its own, untraceable; and takes the share of
   the machine that everybody has. */
int cs_become_wholly(uid_t user, gid_t group);

/* sealing.c: has systemd-creds(1) seal so many bytes (at most 4,096) with the TPM, bound to these PCRs, or, where these
   are NULL, open what was sealed; it is ended after so many seconds. *count is how many bytes came; one above the room
   where there were more. NULL, or its own last words, or the system's, until the next call. */
const char *cs_seal(const uint8_t *pcrs, const void *input, size_t size, void *output, size_t room, size_t *count,
                    unsigned seconds);
/* Mounts an empty ramfs for root alone. */
int cs_mount_ramfs(const uint8_t *path);
/* The kernel's number for the kind of file system that an open file lies on; -1 where that can't be told. */
int64_t cs_file_system(int file);
/* batch.c: forks, with a pipe from the copy to this process; each gets its own end. Returns as fork does. */
pid_t cs_fork_worker(int *result);
/* Makes room for 1 MiB in a pipe, if that is allowed. */
void cs_widen(int pipe);
/* From here on, signals that ask a program to stop (Ctrl-C, a closed window, a shutdown) stay pending, unless they are
   ignored; whether one is pending. */
void cs_hold_stops(void);
int cs_stop_is_held(void);
/* Sends the pending ones to another process, too. */
void cs_pass_on_stops(pid_t process);
/* A bell that copies of this process share; -1 where there is none. cs_await returns after a ring, or after so many
   milliseconds; a ring that nobody awaited is kept, and several count as one. */
int cs_bell(void);
void cs_ring(int bell);
void cs_await(int bell, int milliseconds);
/* Sets the time of the last access to now, and no other time. */
int cs_touch_access(int file);
/* From here on, neither Ctrl-Z nor the terminal suspends this process. */
void cs_hold_pauses(void);

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
/* Copies between standard input and output, which are one connection, and another one, until that ends. 0, or an errno. */
int cs_relay(int other);
