/* The user database is a text: glibc's own parser takes it apart. */
#define _GNU_SOURCE
#include "fuzz.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One stream an input: to open it for each look takes longer than all the rest. */
static FILE *database;

void fuzz_accounts(const uint8_t *text, size_t count) {
  if (database != NULL) fclose(database);
  database = NULL;
  if (count == 0) return;
  database = fmemopen((void *)text, count, "r");
  if (database == NULL) fuzz_fail("no stream");
}

static int find(const char *name, uid_t uid, struct passwd *entry, char *buffer, size_t room, struct passwd **result) {
  *result = NULL;
  if (database == NULL) return 0;
  rewind(database);
  int error;
  while ((error = fgetpwent_r(database, entry, buffer, room, result)) == 0)
    if (name ? strcmp(name, entry->pw_name) == 0 : entry->pw_uid == uid) break;
  if (error != 0) *result = NULL;
  return error == ENOENT ? 0 : error;
}

int __wrap_getpwnam_r(const char *name, struct passwd *entry, char *buffer, size_t room, struct passwd **result) {
  return find(name, 0, entry, buffer, room, result);
}

int __wrap_getpwuid_r(uid_t uid, struct passwd *entry, char *buffer, size_t room, struct passwd **result) {
  return find(NULL, uid, entry, buffer, room, result);
}

struct passwd *__wrap_getpwuid(uid_t uid) {
  static struct passwd entry;
  static char buffer[1 << 16];
  struct passwd *result;
  return find(NULL, uid, &entry, buffer, sizeof buffer, &result) == 0 ? result : NULL;
}
