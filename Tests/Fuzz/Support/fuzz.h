/* What the fuzz targets have in C: a parser of JSON, libpam, accounts, arguments, and the world around the module's entry. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Ends the run: libFuzzer keeps the input. */
_Noreturn void fuzz_fail(const char *reason);

/* bytes.c: libc's comparisons, which are fast, and which the fuzzer doesn't follow byte by byte. */
int fuzz_is_zero(const uint8_t *bytes, size_t count);
int fuzz_is_same(const uint8_t *one, const uint8_t *other, size_t count);

/* bytes.c: whether the expensive judges of a target look at an input, too: at all of them, and only at one in so many,
   which the input's own bytes choose, where the environment has PASSCODE_FUZZ_SAMPLES. */
int fuzz_is_judged(const uint8_t *bytes, size_t count, unsigned one_in);

/* json.c: whether jansson takes a text for one JSON value, an object; the string that it has under `name` goes to
   `value`, with its length in bytes, -1 for null or none. Returns 0 if it isn't JSON. */
int fuzz_json(const uint8_t *text, size_t count, const char *name, uint8_t *value, size_t room, long *length);

/* libpam.c: the folder of modules, with a slash at its end; a service's file, by its number (a, b, ...), NULL to remove
   it; whether libpam lets the person in at service a, with these answers (answer.c). */
const char *fuzz_libpam_modules(void);
void fuzz_libpam_file(size_t index, const uint8_t *text, size_t count);
int fuzz_libpam_opens(const uint8_t *answers);

/* accounts.c: the text that getpwnam_r, getpwuid_r and getpwuid read as /etc/passwd from here on. */
void fuzz_accounts(const uint8_t *text, size_t count);

/* arguments.c: what the program was started with, from here on; strings one after the other, each with its NUL. */
void fuzz_arguments(const uint8_t *strings, size_t count);

/* world.c: libpam and the system, as one input wants them. */
enum fuzz_text {
  fuzz_service, fuzz_terminal, fuzz_display, fuzz_remote_host, fuzz_requester, fuzz_user, fuzz_later_user, fuzz_token,
  fuzz_answer, fuzz_reply_to_look, fuzz_reply_to_attempt, fuzz_first_argument,
  fuzz_texts = fuzz_first_argument + 16,
};

enum { fuzz_faults = 8, fuzz_never = 255 };

typedef struct {
  /* Real, effective and saved uid; the peer on standard input; AT_SECURE. */
  uid_t real, effective, saved, peer;
  int is_secure;
  int flags, arguments;
  /* The conversation: 0 answers, 1 fails, 2 answers nothing, 3 gives no text, 4 has no function, 5 isn't there. */
  int conversation;
  /* The number of a call, from 0 on, and what it does instead; 0: nothing. */
  uint8_t faults[2 * fuzz_faults];
  /* After so many sleeps others give the record and the hashing slots back; 0: they haven't got them. */
  uint8_t record_held, slots_held;
  /* Something moves while somebody waits. */
  int moves;
  /* Milliseconds by which each look at a clock moves it. */
  uint8_t clock_step;
  /* Which hash, from 1 on, can't be completed; 0: none. */
  uint8_t failing_hash;
  /* There is no account _passcode. */
  int lacks_service;
  /* What the process keeps from one call to the next is forgotten first. */
  int forgets;
  uid_t record;
} fuzz_plan;

typedef struct {
  int prompts, tells, hashes, faults, delays, starts, sends;
  /* Files that may have been made. */
  int made;
  /* Of the faults, those that say that there is no such file. */
  int hidden;
  /* Bytes that were sent to helpers. */
  uint8_t sent[512];
  size_t sent_count;
  int left_token;
  uint64_t boot_milliseconds, wall_seconds;
} fuzz_seen;

extern fuzz_plan plan;
extern fuzz_seen seen;

/* Milliseconds and seconds when a call begins. */
enum { fuzz_boot_start = 900000000, fuzz_wall_start = 1767225600 };

/* Forgets the last input's texts, and sets plan and seen to 0. */
void fuzz_begin(void);
void fuzz_set(enum fuzz_text text, const uint8_t *bytes, size_t count);
/* Puts a file below the root that the module sees; with NULL, removes it. */
void fuzz_file(const char *path, const uint8_t *bytes, size_t count, mode_t mode);
/* Reads one, up to so many bytes; returns how many. */
size_t fuzz_content(const char *path, uint8_t *bytes, size_t room);
/* pam_sm_authenticate, and what must hold after every call of it. */
int fuzz_authenticate(void);

/* base64.c: what libsodium reads and writes. */
long fuzz_unbase64(const uint8_t *text, size_t count, uint8_t *bytes, size_t room);
void fuzz_base64(const uint8_t *bytes, size_t count, uint8_t *text, size_t room);
