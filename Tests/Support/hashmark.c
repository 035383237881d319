// Loaded into every program by /etc/ld.so.preload, in the tests' own /etc: marks by getsid where a hash begins, as host.c does.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

int crypto_pwhash(unsigned char *out, unsigned long long outLength, const char *code, unsigned long long codeLength,
                  const unsigned char *salt, unsigned long long operations, size_t memory, int algorithm) {
  __typeof__(&crypto_pwhash) libsodium = dlsym(RTLD_NEXT, "crypto_pwhash");
  getsid(0);
  return libsodium(out, outLength, code, codeLength, salt, operations, memory, algorithm);
}
