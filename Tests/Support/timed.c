// A login program that measures how long a typed answer takes: timed SERVICE FOLDER USER
//
// Each line of standard input is "CODE NANOSECONDS": one pam_authenticate, whose prompt is answered by the code. Prints the
// result, the nanoseconds from the prompt to the result (-1: it wasn't asked), and those of the whole call. By the NANOSECONDS a test plants a
// difference: so long the result is held back. (Before the answer, a helper would have something else to do meanwhile.)
#include <security/pam_appl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char code[32];
static long planted, asked;

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000 + time.tv_nsec;
}

static int converse(int count, const struct pam_message **messages, struct pam_response **responses, void *data) {
  (void)data;
  *responses = calloc(count, sizeof **responses);
  for (int index = 0; index < count; index++) {
    if (messages[index]->msg_style != PAM_PROMPT_ECHO_OFF) continue;
    asked = now();
    (*responses)[index].resp = strdup(code);
  }
  return PAM_SUCCESS;
}

static void no_delay(int result, unsigned micros, void *data) {
  (void)result, (void)micros, (void)data;
}

int main(int count, char **arguments) {
  static const struct pam_conv conversation = {converse, NULL};
  pam_handle_t *handle;
  if (count != 4 || pam_start_confdir(arguments[1], arguments[3], &conversation, arguments[2], &handle) != PAM_SUCCESS) return 2;
  pam_set_item(handle, PAM_FAIL_DELAY, (const void *)no_delay);
  pam_set_item(handle, PAM_TTY, "tty1");
  while (scanf("%31s %ld", code, &planted) == 2) {
    asked = 0;
    long begin = now();
    int result = pam_authenticate(handle, 0);
    long end = now();
    if (planted) {
      while (now() < end + planted) {}
      end = now();
    }
    printf("%d %ld %ld\n", result, asked ? end - asked : -1, end - begin);
    fflush(stdout);
  }
  pam_end(handle, 0);
  return 0;
}
