/* Who the process is, which accounts there are, memory, and libsodium's two slow functions. */
#define _GNU_SOURCE
#include "world.h"

#include "csystem.h"

#include <sodium.h>
#include <sys/auxv.h>
#include <sys/sysinfo.h>

static const struct {
  const char *name;
  uid_t uid;
} accounts[] = {{"root", 0}, {"alice", 1000}, {"bob", 1001}, {"_passcode", 990}, {"toor", 0}, {"alicia", 1000}};
enum { account_count = sizeof accounts / sizeof *accounts };

extern int __real_getresuid(uid_t *, uid_t *, uid_t *);

int __wrap_getresuid(uid_t *real, uid_t *effective, uid_t *saved) {
  if (!fuzz_active) return __real_getresuid(real, effective, saved);
  *real = plan.real, *effective = plan.effective, *saved = plan.saved;
  return 0;
}

extern int __real_getsockopt(int, int, int, void *, socklen_t *);

int __wrap_getsockopt(int file, int level, int option, void *value, socklen_t *size) {
  if (!fuzz_active || option != SO_PEERCRED) return __real_getsockopt(file, level, option, value, size);
  uint8_t detail;
  if (fuzz_fault(&detail) != 0) return -1;
  struct ucred peer = {.pid = 1, .uid = plan.peer, .gid = plan.peer};
  memcpy(value, &peer, sizeof peer);
  return 0;
}

extern unsigned long __real_getauxval(unsigned long);

unsigned long __wrap_getauxval(unsigned long type) {
  if (fuzz_active && type == AT_SECURE) return (unsigned long)plan.is_secure;
  return fuzz_active && type == AT_EXECFN ? (unsigned long)"/usr/bin/login" : __real_getauxval(type);
}

extern void *__real_mmap(void *, size_t, int, int, int, off_t);

/* Nothing of the size that a configuration may ask for is really taken. */
void *__wrap_mmap(void *start, size_t size, int protection, int flags, int file, off_t offset) {
  uint8_t detail;
  if (!fuzz_active) return __real_mmap(start, size, protection, flags, file, offset);
  if (fuzz_fault(&detail) != 0) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return __real_mmap(start, size, protection, flags & ~MAP_POPULATE, file, offset);
}

extern int __real_sysinfo(struct sysinfo *);

int __wrap_sysinfo(struct sysinfo *info) {
  uint8_t detail;
  if (fuzz_active && fuzz_fault(&detail) != 0) return -1;
  return __real_sysinfo(info);
}

static int find(const char *name, uid_t uid, struct passwd *entry, char *buffer, size_t room, struct passwd **result) {
  uint8_t detail;
  *result = NULL;
  int error = fuzz_fault(&detail);
  if (error > 0) return error;
  if (error < 0) return ERANGE;
  /* A name that is found, and is longer than any that we keep. */
  if (name && strlen(name) > 255 && name[0] == 'l') {
    if (strlen(name) >= room) return ERANGE;
    *entry = (struct passwd){.pw_name = strcpy(buffer, name), .pw_uid = 1002, .pw_gid = 1002};
    *result = entry;
    return 0;
  }
  for (int i = 0; i < account_count; i++) {
    if (accounts[i].uid == 990 && plan.lacks_service) continue;
    if (name ? strcmp(name, accounts[i].name) != 0 : accounts[i].uid != uid) continue;
    *entry = (struct passwd){.pw_name = strcpy(buffer, accounts[i].name), .pw_uid = accounts[i].uid,
                             .pw_gid = accounts[i].uid};
    *result = entry;
    return 0;
  }
  return 0;
}

extern int __real_getpwnam_r(const char *, struct passwd *, char *, size_t, struct passwd **);

int __wrap_getpwnam_r(const char *name, struct passwd *entry, char *buffer, size_t room, struct passwd **result) {
  if (!fuzz_active) return __real_getpwnam_r(name, entry, buffer, room, result);
  return find(name, 0, entry, buffer, room, result);
}

extern int __real_getpwuid_r(uid_t, struct passwd *, char *, size_t, struct passwd **);

int __wrap_getpwuid_r(uid_t uid, struct passwd *entry, char *buffer, size_t room, struct passwd **result) {
  if (!fuzz_active) return __real_getpwuid_r(uid, entry, buffer, room, result);
  return find(NULL, uid, entry, buffer, room, result);
}

/* A digest in the place of Argon2: equal for equal input, and quick. Before it, the charge must be on the device. */
int __wrap_crypto_pwhash(unsigned char *out, unsigned long long out_length, const char *code,
                         unsigned long long code_length, const unsigned char *salt, unsigned long long operations,
                         size_t memory, int algorithm) {
  uint64_t cost[3] = {operations, memory, (uint64_t)algorithm};
  crypto_generichash_state state;
  if (fuzz_active) {
    seen.hashes++;
    if (code_length != 4 && code_length != 6) fuzz_fail("something is hashed that is no passcode");
    fuzz_check_charged();
    if (seen.hashes == plan.failing_hash) return -1;
  }
  crypto_generichash_init(&state, salt, crypto_pwhash_SALTBYTES, (size_t)out_length);
  crypto_generichash_update(&state, (const unsigned char *)cost, sizeof cost);
  crypto_generichash_update(&state, (const unsigned char *)code, code_length);
  crypto_generichash_final(&state, out, (size_t)out_length);
  return 0;
}

/* An input has the same course each time. */
void __wrap_randombytes_buf(void *bytes, size_t count) { memset(bytes, 0x5a, count); }
