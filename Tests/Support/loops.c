// Logins without an end, in so many threads of one process:   loops THREADS SERVICE FOLDER USER CODE
#include <pthread.h>
#include <security/pam_appl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char **words;

static int converse(int count, const struct pam_message **messages, struct pam_response **responses, void *data) {
  (void)data;
  *responses = calloc(count, sizeof **responses);
  for (int index = 0; index < count; index++)
    if (messages[index]->msg_style == PAM_PROMPT_ECHO_OFF) (*responses)[index].resp = strdup(words[5]);
  return PAM_SUCCESS;
}

static void no_delay(int result, unsigned micros, void *data) { (void)result, (void)micros, (void)data; }

static void *log_in(void *nothing) {
  static const struct pam_conv conversation = {converse, NULL};
  pam_handle_t *handle;
  if (pam_start_confdir(words[2], words[4], &conversation, words[3], &handle) != PAM_SUCCESS) abort();
  pam_set_item(handle, PAM_FAIL_DELAY, (const void *)no_delay);
  pam_set_item(handle, PAM_TTY, "tty1");
  while (1) pam_authenticate(handle, 0);
  return nothing;
}

int main(int count, char **arguments) {
  if (count != 6) return 2;
  words = arguments;
  for (int number = atoi(words[1]); number > 0; number--) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, log_in, NULL) != 0) return 3;
  }
  while (1) pause();
}
