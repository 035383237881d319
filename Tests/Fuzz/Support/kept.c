/* The system's file, with one function more. */
#include "../../../Sources/CSystem/kept.c"

void fuzz_forget_kept(void);

void fuzz_forget_kept(void) {
  free_kept_memory();
  boot_state = 0;
  service = (uid_t)-1;
}
