/* A PAM module that answers as its file's name and the account's want it: whether the password is right, whether any
   other module lets the person in, and how the passcode refuses (PAMStack.Refusal), or that it is right. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <security/pam_modules.h>
#include <string.h>

/* A line with this word asks for no passcode. */
static int notes_proof(int count, const char **words) {
  while (count-- > 0)
    if (strcmp(words[count], "proven") == 0) return 1;
  return 0;
}

static int refusal(char how, int count, const char **words) {
  if (how == '0') return PAM_AUTH_ERR;
  if (how == '3') return PAM_PERM_DENIED;
  if (how == '4') return PAM_SUCCESS;
  for (int index = 0; index < count; index++) {
    int takes = strcmp(words[index], "nullok") == 0 || strcmp(words[index], "nullok=yes") == 0;
    if (how == '2' && takes) return PAM_IGNORE;
  }
  return PAM_USER_UNKNOWN;
}

int pam_sm_authenticate(pam_handle_t *handle, int flags, int count, const char **words) {
  Dl_info here;
  const char *answers;
  (void)flags;
  if (dladdr((void *)pam_sm_authenticate, &here) == 0) return PAM_ABORT;
  if (pam_get_user(handle, &answers, NULL) != PAM_SUCCESS) return PAM_ABORT;
  const char *name = strrchr(here.dli_fname, '_') + 1;
  if (strcmp(name, "passcode.so") == 0 && !notes_proof(count, words)) return refusal(answers[2], count, words);
  if (strcmp(name, "permit.so") == 0) return PAM_SUCCESS;
  if (strcmp(name, "deny.so") == 0) return PAM_AUTH_ERR;
  return answers[strcmp(name, "unix.so") == 0 ? 0 : 1] == '1' ? PAM_SUCCESS : PAM_AUTH_ERR;
}

int pam_sm_setcred(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)handle, (void)flags, (void)count, (void)words;
  return PAM_SUCCESS;
}
