/* Between world.c, pam.c, calls.c and helper.c. */
#pragma once
#include "fuzz.h"

/* A call of the module is under way: only then do faults, clocks and paths differ from the machine's. */
extern int fuzz_active;
/* The directory that the module takes for /. */
extern int fuzz_root;

/* The text of an input; NULL: none. */
const char *fuzz_text(enum fuzz_text text);
size_t fuzz_text_length(enum fuzz_text text);

/* The errno of the fault that is due at this call, -1 for a peculiar result (`*detail` says which), 0 for none. */
int fuzz_fault(uint8_t *detail);

/* calls.c */
void fuzz_calls_begin(void);
void fuzz_calls_end(void);
uint64_t fuzz_boot_nanoseconds(void);
void fuzz_pass(uint64_t nanoseconds);
/* Fails unless the record is locked, and all that was written to it is on the device. */
void fuzz_check_charged(void);
/* helper.c */
void fuzz_helper_begin(void);
void fuzz_helper_end(void);
