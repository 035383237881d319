/* What is kept while the process lives or the module is loaded, so that the next attempt needn't ask for it.
   By atomics, and not by something that runs once: a child forked in the middle of that would wait for ever. */
#define _GNU_SOURCE
#include "csystem.h"

#include <pthread.h>
#include <sched.h>
#include <sodium/utils.h>
#include <stdatomic.h>
#include <string.h>

/* One piece of guarded memory, wiped; NULL while somebody uses it. sodium_malloc and sodium_free are ten system calls. */
static _Atomic(void *) kept_memory;

void *cs_take_kept_memory(void) {
  return atomic_exchange(&kept_memory, NULL);
}

int cs_keep_memory(void *memory) {
  void *none = NULL;
  return atomic_compare_exchange_strong(&kept_memory, &none, memory);
}

/* A module may be unloaded and loaded again many times in one process. */
__attribute__((destructor)) static void free_kept_memory(void) {
  sodium_free(cs_take_kept_memory());
}

/* A forked child would have the memory, and not its lock (mlock(2)). */
__attribute__((constructor)) static void free_in_children(void) {
  pthread_atfork(NULL, NULL, free_kept_memory);
}

static _Atomic int boot_state; /* 0 unknown, 1 being written, 2 there */
static uint8_t boot_id[36];

int cs_kept_boot_id(uint8_t *text) {
  if (atomic_load(&boot_state) != 2) return 0;
  memcpy(text, boot_id, sizeof boot_id);
  return 1;
}

void cs_keep_boot_id(const uint8_t *text) {
  int unknown = 0;
  if (!atomic_compare_exchange_strong(&boot_state, &unknown, 1)) return;
  memcpy(boot_id, text, sizeof boot_id);
  atomic_store(&boot_state, 2);
}

static _Atomic uid_t service = (uid_t)-1;

uid_t cs_kept_service(void) {
  return atomic_load(&service);
}

void cs_keep_service(uid_t uid) {
  atomic_store(&service, uid);
}

int cs_processors(void) {
  static _Atomic int kept;
  cpu_set_t set;
  if (atomic_load(&kept) == 0 && sched_getaffinity(0, sizeof set, &set) == 0) atomic_store(&kept, CPU_COUNT(&set));
  return atomic_load(&kept);
}

uint64_t cs_all_memory(void) {
  static _Atomic uint64_t kept;
  if (atomic_load(&kept) == 0) atomic_store(&kept, cs_machine_memory().all);
  return atomic_load(&kept);
}
