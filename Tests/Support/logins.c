// Logins one after the other in one process, for valgrind:   logins SERVICE FOLDER ROUNDS
//
// A round is ten calls of pam_authenticate: right, wrong, cancelled, empty, no passcode, locked out, not enrolled, and
// right again, so that nothing is ever locked. A handle serves ten rounds; libpam loads the module for each handle.
// Prints how often each result came, by its number.
#include <security/pam_appl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_results = 64, rounds_of_a_handle = 10 };

static const struct {
  const char *user, *answer;  // no answer: the prompt is cancelled
} calls[] = {
    {"alice", "274916"}, {"alice", "274917"}, {"alice", NULL},       {"alice", ""},  {"alice", "no passcode"},
    {"bob", "274916"},   {"carol", "274916"}, {"alice", "27491600"}, {"alice", "5"}, {"alice", "274916"},
};
enum { call_count = sizeof calls / sizeof *calls };

static const char *answer;

static int converse(int count, const struct pam_message **messages, struct pam_response **responses, void *data) {
  (void)data;
  *responses = calloc(count, sizeof **responses);
  for (int index = 0; index < count; index++) {
    if (messages[index]->msg_style != PAM_PROMPT_ECHO_OFF) continue;
    if (answer == NULL) {
      free(*responses);
      *responses = NULL;
      return PAM_CONV_ERR;
    }
    (*responses)[index].resp = strdup(answer);
  }
  return PAM_SUCCESS;
}

static void no_delay(int result, unsigned micros, void *data) { (void)result, (void)micros, (void)data; }

static void make_a_round(pam_handle_t *handle, int *results) {
  for (int index = 0; index < call_count; index++) {
    pam_set_item(handle, PAM_USER, calls[index].user);
    answer = calls[index].answer;
    results[pam_authenticate(handle, 0) % most_results]++;
  }
}

int main(int count, char **arguments) {
  static const struct pam_conv conversation = {converse, NULL};
  int results[most_results] = {0};
  if (count != 4) return 2;
  for (int left = atoi(arguments[3]); left > 0; left -= rounds_of_a_handle) {
    pam_handle_t *handle;
    if (pam_start_confdir(arguments[1], "alice", &conversation, arguments[2], &handle) != PAM_SUCCESS) return 3;
    pam_set_item(handle, PAM_FAIL_DELAY, (const void *)no_delay);
    pam_set_item(handle, PAM_TTY, "tty1");
    for (int round = 0; round < rounds_of_a_handle && round < left; round++) make_a_round(handle, results);
    pam_end(handle, PAM_SUCCESS);
  }
  for (int result = 0; result < most_results; result++)
    if (results[result]) printf("%d %d\n", result, results[result]);
  return 0;
}
