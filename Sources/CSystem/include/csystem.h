/* What Swift can't say of libc: variadic functions, macros, _GNU_SOURCE, signal handlers, argv.
   As little as each needs; no policy here. */
#pragma once
#include <errno.h>
#include <fcntl.h>
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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

int cs_errno(void);
/* Text comes as the bytes of an array that ends in NUL: Swift lends those as they are. */
int cs_openat(int directory, const uint8_t *name, int flags, mode_t mode);
/* Of a path, without following a link at its end; or of an open file, where that is NULL. */
int cs_status(int file, const uint8_t *path, struct stat *status);

/* <string.h> stands in several of our C modules; Swift wants to know which one is meant. */
void cs_copy(void *to, const void *from, size_t size);
size_t cs_length(const char *text, size_t most);
/* Each byte equals the one before it, and the first one is 0. */
int cs_is_zero(const uint8_t *bytes, size_t size);
void cs_sleep(struct timespec duration);

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
__attribute__((returns_nonnull)) const char *cs_program_name(void);
/* The program was started with more privilege than its caller has (AT_SECURE). */
int cs_is_secure(void);
/* Appends to the system log, facility authpriv, for a program (a module has pam_syslog). */
void cs_log(int priority, const char *text);
/* A clock in nanoseconds; UINT64_MAX if there is none. */
uint64_t cs_clock(clockid_t clock);
/* A moment in words (strftime), local or in UTC: how many bytes; 0 if it takes as many as there is room for, or if the
   calendar has none. */
size_t cs_format_time(time_t seconds, int local, const char *format, uint8_t *text, size_t room);
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
/* Locks a byte of a file for its open description, exclusively (F_WRLCK), without waiting, or unlocks it (F_UNLCK):
   F_OFD_SETLK. */
int cs_set_lock(int file, short type, off_t byte);
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

/* places.c. Settings of the build: where the helper is, the program at the fingerprint reader, the one that asks a fleet's verifier
   and libpam's modules, and the account that owns the store. Package.swift takes them from the environment; nothing at
   run time names others. */
const char *cs_helper_path(void);
const char *cs_finger_path(void);
const char *cs_fleet_path(void);
const char *cs_verifier_path(void);
const char *cs_tool_path(void);
const char *cs_module_directory(void);
const char *cs_service_account(void);

/* The translation of a text in the language of the process's locale, by gettext; with a plural that isn't empty, the one
   that goes with the number. Never freed. NULL: there is none. */
const char *cs_translation(const uint8_t *text, const uint8_t *plural, unsigned long number);
/* The program's arguments. */
int cs_argument_count(void);
char **cs_arguments(void);

/* Connects to a service of root's, without waiting. An errno: EPERM where the other end isn't root's. */
int cs_connect_to_root(const char *path, int *connection);
/* helper.c, the caller's side: starts a program at the other end of a socketpair, which is its standard input,
   with no argument, or with `take-proof`, and no environment, in this process group. 0, the connection and its pid, or
   an errno. */
int cs_start_program(const uint8_t *path, int takes_proof, int *connection, pid_t *child);

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
