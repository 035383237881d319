/* The settings of a build (Sources/BUILD.md), which Package.swift takes from its environment. */
#include "csystem.h"

#ifndef PASSCODE_HELPER_PATH
#define PASSCODE_HELPER_PATH "/usr/libexec/passcode-helper"
#endif

#ifndef PASSCODE_FINGER_PATH
#define PASSCODE_FINGER_PATH "/usr/libexec/passcode-finger"
#endif

#ifndef PASSCODE_FLEET_PATH
#define PASSCODE_FLEET_PATH "/usr/libexec/passcode-fleet"
#endif

#ifndef PASSCODE_TOOL_PATH
#define PASSCODE_TOOL_PATH "/usr/bin/passcode"
#endif

#ifndef PASSCODE_MODULE_DIRECTORY
#if defined __x86_64__
#define PASSCODE_MODULE_DIRECTORY "/usr/lib/x86_64-linux-gnu/security"
#elif defined __aarch64__
#define PASSCODE_MODULE_DIRECTORY "/usr/lib/aarch64-linux-gnu/security"
#else
#define PASSCODE_MODULE_DIRECTORY "/usr/lib/security"
#endif
#endif

#ifndef PASSCODE_VERIFIER_PATH
#define PASSCODE_VERIFIER_PATH "/usr/sbin/passcode-verifier"
#endif

#ifndef PASSCODE_ACCOUNT
#define PASSCODE_ACCOUNT "_passcode"
#endif

const char *cs_helper_path(void) {
  return PASSCODE_HELPER_PATH;
}

const char *cs_finger_path(void) {
  return PASSCODE_FINGER_PATH;
}

const char *cs_fleet_path(void) {
  return PASSCODE_FLEET_PATH;
}

const char *cs_tool_path(void) {
  return PASSCODE_TOOL_PATH;
}

const char *cs_verifier_path(void) {
  return PASSCODE_VERIFIER_PATH;
}

const char *cs_module_directory(void) {
  return PASSCODE_MODULE_DIRECTORY;
}

const char *cs_service_account(void) {
  return PASSCODE_ACCOUNT;
}
