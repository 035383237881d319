// What modules are measured with, and the bare hashes beside them; prints one line for each measurement:
//
//   bare load ROUNDS MODULE…                   dlopen of each, in a child of its own, in turns: its number, the
//                                              nanoseconds, then the KiB that became resident, and those of them that
//                                              were written; in the first round also the libraries that came with it
//   bare argon2 COUNT PROCESSES OPS BYTES      so many hashes of libsodium's in so many processes: seconds by the clock,
//                                              and seconds of processor time
//   bare portable COUNT PROCESSES OPS BYTES    the same by the code that libsodium takes before sodium_init
//   bare touch COUNT PROCESSES OPS BYTES       only takes the memory that such a hash takes, and gives it back
//   bare crypt COUNT PROCESSES PHRASE SETTING  hashes of crypt_r's
//   bare login SERVICE FOLDER USER CODE TIMES  so many calls of pam_authenticate on one handle, for callgrind; each result
//                                              as a number. Unlike the one in host.c, it puts nothing before the hashes.
//
// It is linked with libpam, as every login program is, and with neither libsodium nor libcrypt.
#define _GNU_SOURCE
#include <crypt.h>
#include <dlfcn.h>
#include <security/pam_appl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_LIBRARIES = 64 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static void memory(long *resident, long *written) {
  char line[256];
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  if (!file) abort();
  while (fgets(line, sizeof line, file)) sscanf(line, "Rss: %ld", resident), sscanf(line, "Private_Dirty: %ld", written);
  fclose(file);
}

static int libraries(char paths[MOST_LIBRARIES][256]) {
  char line[512], path[256];
  int count = 0;
  FILE *file = fopen("/proc/self/maps", "r");
  if (!file) abort();
  while (count < MOST_LIBRARIES && fgets(line, sizeof line, file)) {
    const char *start = strchr(line, '/');
    if (start && sscanf(start, "%255s", path) == 1 && (count == 0 || strcmp(paths[count - 1], path) != 0))
      strcpy(paths[count++], path);
  }
  fclose(file);
  return count;
}

static int is_among(const char *path, char paths[MOST_LIBRARIES][256], int count) {
  for (int index = 0; index < count; index++)
    if (strcmp(paths[index], path) == 0) return 1;
  return 0;
}

static void load_one(int number, const char *module, int tells) {
  static char before[MOST_LIBRARIES][256], after[MOST_LIBRARIES][256];
  long resident = 0, written = 0, residentThen = 0, writtenThen = 0;
  memory(&resident, &written);  // the first call costs memory itself
  int known = libraries(before);
  memory(&resident, &written);
  double start = now();
  void *handle = dlopen(module, RTLD_NOW);
  double seconds = now() - start;
  if (!handle) fprintf(stderr, "%s\n", dlerror()), _exit(1);
  memory(&residentThen, &writtenThen);
  printf("%d\t%.0f\t%ld\t%ld", number, seconds * 1e9, residentThen - resident, writtenThen - written);
  for (int index = 0, count = tells ? libraries(after) : 0; index < count; index++)
    if (!is_among(after[index], before, known)) printf("\t%s", after[index]);
  printf("\n");
  fflush(stdout);
  _exit(0);
}

static int load(int rounds, char **modules, int count) {
  int status, failed = 0;
  for (int round = 0; round < rounds; round++)
    for (int turn = 0; turn < count; turn++) {
      // Each is the first of a round equally often.
      int number = (round + turn) % count;
      if (fork() == 0) load_one(number, modules[number], round == 0);
      if (wait(&status) < 0 || status != 0) failed = 1;
    }
  return failed;
}

static void *function(const char *library, const char *name) {
  void *found = dlsym(dlopen(library, RTLD_NOW), name);
  if (!found) abort();
  return found;
}

typedef int pwhash(unsigned char *, unsigned long long, const char *, unsigned long long, const unsigned char *,
                   unsigned long long, size_t, int);

static pwhash *argon2;
static __typeof__(&crypt_r) crypt_with;

// sodium_init chooses the code for this processor: without it, Argon2 is portable C, and much slower.
static void find_argon2(int chooses) {
  const char *library = dlopen("libsodium.so.23", RTLD_NOW) ? "libsodium.so.23" : "libsodium.so.26";
  int (*sodium_init)(void) = (int (*)(void))function(library, "sodium_init");
  if (chooses && sodium_init() < 0) abort();
  argon2 = (pwhash *)function(library, "crypto_pwhash");
}

static void hash(char **arguments) {
  unsigned char out[32], salt[16] = {0};
  unsigned long long operations = strtoull(arguments[0], NULL, 10);
  if (argon2(out, sizeof out, "0471", 4, salt, operations, strtoull(arguments[1], NULL, 10), 2) != 0) abort();
}

static void touch(char **arguments) {
  size_t size = strtoull(arguments[1], NULL, 10);
  // As libsodium takes it.
  void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (area == MAP_FAILED || munmap(area, size) != 0) abort();
}

static void crypt_one(char **arguments) {
  static struct crypt_data data;
  if (!crypt_with(arguments[0], arguments[1], &data)) abort();
}

static int many(void (*work)(char **), int count, int processes, char **arguments) {
  atomic_int *begun = mmap(NULL, sizeof *begun, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (begun == MAP_FAILED) abort();
  int status, failed = 0;
  double started = now();
  for (int process = 0; process < processes; process++) {
    if (fork() != 0) continue;
    while (atomic_fetch_add(begun, 1) < count) work(arguments);
    _exit(0);
  }
  while (wait(&status) > 0) failed |= status != 0;
  struct rusage used;
  getrusage(RUSAGE_CHILDREN, &used);
  printf("%f\t%f\n", now() - started,
         used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
  return failed;
}

static int answer(int count, const struct pam_message **messages, struct pam_response **responses, void *code) {
  (void)messages;
  *responses = calloc(count, sizeof **responses);
  for (int index = 0; index < count; index++) (*responses)[index].resp = strdup(code);
  return PAM_SUCCESS;
}

static int login(char **arguments, int times) {
  struct pam_conv conversation = {answer, arguments[3]};
  pam_handle_t *handle;
  if (pam_start_confdir(arguments[0], arguments[2], &conversation, arguments[1], &handle) != PAM_SUCCESS) abort();
  pam_set_item(handle, PAM_TTY, "tty1");
  pam_set_item(handle, PAM_RUSER, "root");  // a terminal that is merely named proves nothing
  for (int time = 0; time < times; time++) printf("%d\n", pam_authenticate(handle, 0));
  return pam_end(handle, 0) != PAM_SUCCESS;
}

int main(int count, char **arguments) {
  if (count > 3 && strcmp(arguments[1], "load") == 0) return load(atoi(arguments[2]), arguments + 3, count - 3);
  if (count == 6) {
    void (*work)(char **) = NULL;
    if (strcmp(arguments[1], "argon2") == 0) find_argon2(1), work = hash;
    if (strcmp(arguments[1], "portable") == 0) find_argon2(0), work = hash;
    if (strcmp(arguments[1], "touch") == 0) work = touch;
    if (strcmp(arguments[1], "crypt") == 0)
      crypt_with = (__typeof__(&crypt_r))function("libcrypt.so.1", "crypt_r"), work = crypt_one;
    if (work) return many(work, atoi(arguments[2]), atoi(arguments[3]), arguments + 4);
  }
  if (count == 7 && strcmp(arguments[1], "login") == 0) return login(arguments + 2, atoi(arguments[6]));
  fprintf(stderr, "usage: bare load|argon2|portable|touch|crypt|login …\n");
  return 2;
}
