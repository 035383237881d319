// A login program for the attacks, in five moods:
//
//   host one SERVICE FOLDER USER CODE…    one pam_authenticate a code, on one handle; prints the results.
//                                         For strace, getppid marks where a call begins and ends, and getsid
//                                         where its verification begins: nothing else here calls these.
//   host crowd SERVICE FOLDER             reads lines "USER CODE WAVE". Opens every prompt first, each in a
//                                         process of its own, then lets one wave after the other answer, all
//                                         of a wave at once.
//   host threads SERVICE FOLDER           the same, each prompt in a thread of this one process.
//   host typed SERVICE FOLDER USER        one pam_authenticate for each line of its standard input, which is the
//                                         answer to every prompt of it; prints the result. It keeps no copy, and
//                                         calls pam_end at the end of the input.
//   host asked SERVICE FOLDER USER        the same, but it reads the answer when it is asked, and says "asked" before;
//                                         a line of its own begins each pam_authenticate. The answer "cancel" fails
//                                         the conversation.
//
// It counts what is verified where nobody can deny it: its own crypto_pwhash and crypt_r come before
// libsodium's and libcrypt's in the search for symbols, count, and call them. With FORKS=1 in the environment, a child
// is forked in the middle of each hash, as other threads of a login program might; it stays until standard input ends.
// With ABORTS=hash or ABORTS=prompt, it crashes there instead. With FILES=N, each process of a crowd may have descriptors
// below N only. With STATIONS=FOLDER, each login of a crowd sees FOLDER/USER as
// /run/passcode-fleet. With SCARCE=1, the machine has no memory free.
#define _GNU_SOURCE
#include <crypt.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <security/pam_appl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_LOGINS = 4096, WAVES = 4 };

struct login {
  pid_t process;
  int wave, result, prompts;
  atomic_int waiting, done;
  double seconds;  // from its wave's start to the result
  char user[64], code[32], text[160];
};

static struct shared {
  atomic_int hashes, hashing, mostHashing, crypts;
  char verified[MOST_LOGINS][8];  // the codes, in the order in which their hashing began
  double waveStart[WAVES];
  struct login logins[MOST_LOGINS];
} *shared;

static int barriers[WAVES][2];
static _Thread_local struct login *own;  // in a crowd's child, or thread
static char **codes;       // in moods `one` and `typed`
static int forgets;        // in moods `typed` and `asked`

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static void *real(const char *library, const char *name) {
  void *function = dlsym(dlopen(library, RTLD_NOW), name);
  if (!function) abort();
  return function;
}

static void crash_at(const char *place) {
  const char *planted = getenv("ABORTS");
  if (planted && strcmp(planted, place) == 0) abort();
}

static void linger(void) {
  char byte;
  close(1), close(2);
  while (read(0, &byte, 1) > 0) {}
  _exit(0);
}

int crypto_pwhash(unsigned char *out, unsigned long long outLength, const char *code, unsigned long long codeLength,
                  const unsigned char *salt, unsigned long long operations, size_t memory, int algorithm) {
  static __typeof__(&crypto_pwhash) libsodium;
  // 1.0.18, and from 1.0.19 on.
  if (!libsodium) libsodium = real(dlopen("libsodium.so.23", RTLD_NOW) ? "libsodium.so.23" : "libsodium.so.26", "crypto_pwhash");
  getsid(0);
  crash_at("hash");
  int number = atomic_fetch_add(&shared->hashes, 1);
  if (!forgets && number < MOST_LOGINS && codeLength < sizeof *shared->verified) memcpy(shared->verified[number], code, codeLength);
  int together = atomic_fetch_add(&shared->hashing, 1) + 1, most = atomic_load(&shared->mostHashing);
  while (together > most && !atomic_compare_exchange_weak(&shared->mostHashing, &most, together)) {}
  if (getenv("FORKS") && fork() == 0) linger();
  int result = libsodium(out, outLength, code, codeLength, salt, operations, memory, algorithm);
  atomic_fetch_sub(&shared->hashing, 1);
  return result;
}

// In moods `typed` and `asked` what is freed stays as it is: libc writes its own numbers over a short text, and would hide one
// that nobody wiped.
void free(void *memory) {
  extern void __libc_free(void *);
  if (!forgets) __libc_free(memory);
}

int sysinfo(struct sysinfo *info) {
  static __typeof__(&sysinfo) libc;
  if (!libc) libc = real("libc.so.6", "sysinfo");
  int result = libc(info);
  if (getenv("SCARCE")) info->freeram = info->bufferram = 0;
  return result;
}

char *crypt_r(const char *phrase, const char *setting, struct crypt_data *data) {
  static __typeof__(&crypt_r) libcrypt;
  if (!libcrypt) libcrypt = real("libcrypt.so.1", "crypt_r");
  // pam_unix tries some passwords more than once.
  static int counted;
  if (*phrase && !counted++) atomic_fetch_add(&shared->crypts, 1);
  return libcrypt(phrase, setting, data);
}

// Reads one line, byte by byte; nothing else of it is ever in this process.
static int read_line(char *line, size_t size) {
  size_t length = 0;
  while (length + 1 < size && read(0, line + length, 1) == 1)
    if (line[length++] == '\n') {
      line[length - 1] = 0;
      return 1;
    }
  return 0;
}

static const char *crowdService, *crowdFolder;
static char typed_line[32];
static int asks;  // in mood `asked`

// NULL: the conversation fails.
static const char *answer(void) {
  crash_at("prompt");
  if (asks) {
    printf("asked\n");
    fflush(stdout);
    return read_line(typed_line, sizeof typed_line) && strcmp(typed_line, "cancel") != 0 ? typed_line : NULL;
  }
  if (!own) return *codes ? *codes : "";
  char byte;
  own->prompts++;
  atomic_store(&own->waiting, 1);
  while (read(barriers[own->wave][0], &byte, 1) > 0) {}
  return own->code;
}

static int converse(int count, const struct pam_message **messages, struct pam_response **responses, void *data) {
  (void)data;
  *responses = calloc(count, sizeof **responses);
  for (int index = 0; index < count; index++) {
    if (messages[index]->msg_style == PAM_PROMPT_ECHO_OFF || messages[index]->msg_style == PAM_PROMPT_ECHO_ON) {
      const char *text = answer();
      if (!text) return PAM_CONV_ERR;
      (*responses)[index].resp = strdup(text);
      if (asks) explicit_bzero(typed_line, sizeof typed_line);
    } else if (own)
      snprintf(own->text, sizeof own->text, "%s", messages[index]->msg);
  }
  return PAM_SUCCESS;
}

static void no_delay(int result, unsigned micros, void *data) {
  (void)result, (void)micros, (void)data;
}

static pam_handle_t *start(const char *service, const char *folder, const char *user) {
  static const struct pam_conv conversation = {converse, NULL};
  pam_handle_t *handle;
  if (pam_start_confdir(service, user, &conversation, folder, &handle) != PAM_SUCCESS) abort();
  pam_set_item(handle, PAM_FAIL_DELAY, (const void *)no_delay);
  pam_set_item(handle, PAM_TTY, "tty1");  // or it would pass for a daemon that serves the network
  return handle;
}

static int one(char **arguments) {
  pam_handle_t *handle = start(arguments[0], arguments[1], arguments[2]);
  for (codes = arguments + 3; *codes; codes++) {
    getppid();
    int result = pam_authenticate(handle, 0);
    getppid();
    printf("%d\n", result);
    fflush(stdout);
  }
  pam_end(handle, 0);
  return 0;
}

static char *typed_codes[] = {typed_line, NULL};

static int typed(char **arguments, int when_asked) {
  pam_handle_t *handle = start(arguments[0], arguments[1], arguments[2]);
  codes = typed_codes;
  asks = when_asked;
  forgets = 1;
  printf("started\n");
  fflush(stdout);
  while (read_line(typed_line, sizeof typed_line)) {
    int result = pam_authenticate(handle, 0);
    explicit_bzero(typed_line, sizeof typed_line);
    printf("%d\n", result);
    fflush(stdout);
  }
  pam_end(handle, 0);
  printf("ended\n");
  fflush(stdout);
  pause();
  return 0;
}

static void login(void) {
  pam_handle_t *handle = start(crowdService, crowdFolder, own->user);
  own->result = pam_authenticate(handle, 0);
  own->seconds = now() - shared->waveStart[own->wave];
  atomic_store(&own->done, 1);
  pam_end(handle, 0);
}

static void login_process(struct login *who) {
  pid_t process = fork();
  who->process = process;
  if (process != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int wave = 0; wave < WAVES; wave++) close(barriers[wave][1]);
  own = who;
  if (getenv("FILES")) {
    struct rlimit limit = {atoi(getenv("FILES")), atoi(getenv("FILES"))};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (getenv("STATIONS")) {
    char station[200];
    snprintf(station, sizeof station, "%s/%s", getenv("STATIONS"), who->user);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) != 0) abort();
    if (mount(station, "/run/passcode-fleet", NULL, MS_BIND, NULL) != 0) abort();
  }
  login();
  _exit(0);
}

static void *login_thread(void *who) {
  own = who;
  login();
  return NULL;
}

static void bad_input(void) {
  fprintf(stderr, "host: lines are USER CODE WAVE\n");
  exit(2);
}

/// Memory that belongs to all these processes alone, in KiB.
static long private_memory(int count) {
  long sum = 0;
  for (int index = 0; index < count; index++) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", shared->logins[index].process);
    FILE *file = fopen(path, "r");
    if (!file) continue;
    long value;
    while (fgets(line, sizeof line, file))
      if (sscanf(line, "Private_Clean: %ld", &value) == 1 || sscanf(line, "Private_Dirty: %ld", &value) == 1) sum += value;
    fclose(file);
  }
  return sum;
}

static int finished(int count, int wave) {
  for (int index = 0; index < count; index++)
    if (shared->logins[index].wave == wave && !atomic_load(&shared->logins[index].done)) return 0;
  return 1;
}

static int all_wait(int count) {
  for (int index = 0; index < count; index++)
    if (!atomic_load(&shared->logins[index].waiting) && !atomic_load(&shared->logins[index].done)) return 0;
  return 1;
}

static void reap(void) {
  // A login that died gives no result: it stays at -1.
  int status;
  for (pid_t process; (process = waitpid(-1, &status, WNOHANG)) > 0;)
    for (int index = 0; index < MOST_LOGINS; index++)
      if (shared->logins[index].process == process) atomic_store(&shared->logins[index].done, 1);
}

static int crowd(char **arguments, int threaded) {
  int count = 0;
  crowdService = arguments[0], crowdFolder = arguments[1];
  for (struct login *login = shared->logins; count < MOST_LOGINS; login++, count++) {
    int read = scanf("%63s %31s %d", login->user, login->code, &login->wave);
    if (read == EOF) break;
    if (read != 3 || login->wave < 0 || login->wave >= WAVES) bad_input();
    login->result = -1;
  }
  for (int wave = 0; wave < WAVES; wave++)
    if (pipe(barriers[wave]) != 0) abort();
  for (int index = 0; index < count; index++) {
    pthread_t thread;
    if (!threaded) login_process(&shared->logins[index]);
    else if (pthread_create(&thread, NULL, login_thread, &shared->logins[index]) != 0) abort();
  }
  while (!all_wait(count)) reap(), usleep(1000);
  int measures = getenv("MEASURE_MEMORY") != NULL;
  long before = measures ? private_memory(count) : 0, peak = before;
  double started = now(), measured = started;
  for (int wave = 0; wave < WAVES; wave++) {
    shared->waveStart[wave] = now();
    close(barriers[wave][1]);
    while (!finished(count, wave)) {
      // To look at a crowd takes its time, too.
      if (measures && now() - measured > 0.01 + 0.002 * count) {
        long memory = private_memory(count);
        if (memory > peak) peak = memory;
        measured = now();
      }
      reap(), usleep(1000);
    }
  }
  double seconds = now() - started;
  for (int index = 0; index < count; index++) {
    struct login *login = &shared->logins[index];
    printf("%d\t%d\t%f\t%s\n", login->result, login->prompts, login->seconds, login->text);
  }
  for (int index = 0; index < shared->hashes && index < MOST_LOGINS; index++) printf("%s ", shared->verified[index]);
  printf("\n%d\t%d\t%d\t%f\t%ld\t%ld\n", shared->hashes, shared->mostHashing, shared->crypts, seconds, before, peak);
  return 0;
}

int main(int count, char **arguments) {
  setlocale(LC_ALL, "");
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  if (count > 5 && strcmp(arguments[1], "one") == 0) return one(arguments + 2);
  if (count == 5 && strcmp(arguments[1], "typed") == 0) return typed(arguments + 2, 0);
  if (count == 5 && strcmp(arguments[1], "asked") == 0) return typed(arguments + 2, 1);
  if (count == 4 && strcmp(arguments[1], "crowd") == 0) return crowd(arguments + 2, 0);
  if (count == 4 && strcmp(arguments[1], "threads") == 0) return crowd(arguments + 2, 1);
  fprintf(stderr, "usage: host one|crowd|threads|typed|asked …\n");
  return 2;
}
