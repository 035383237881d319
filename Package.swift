// swift-tools-version: 6.2
import PackageDescription

// The programs that ship are Embedded Swift: `swift build -c release --traits Embedded`.
// Unit tests compile the same sources as plain Swift: `swift test`.
let embedded: BuildSettingCondition = .when(traits: ["Embedded"])

let swiftSettings: [SwiftSetting] = [
  .enableExperimentalFeature("Embedded", embedded),
  // A login program loads the module each time, so it is to be small: -Osize, and a section for each function, so that
  // the linker drops what nothing uses. Two habits in the sources are for the same: `@inline(never)`
  // on what many places call, since the optimizer would copy it into each, and plain loops or libc instead of the
  // standard library's `split` and `sort`, which come once for each type and closure (`sort`: 5 kB).
  .unsafeFlags(["-Xfrontend", "-function-sections", "-Osize"], embedded),
  // One trap for several checks; and no copy of a function for each closure that it is called with. Embedded Swift's
  // runtime checks no exclusive access: its functions for that are empty, and needn't be called.
  .unsafeFlags(
    [
      "-Xfrontend", "-mergeable-traps", "-Xllvm", "-sil-disable-pass=closure-specialize",
      "-enforce-exclusivity=unchecked",
    ], embedded),
  // The same bytes, wherever the source lies.
  .unsafeFlags(
    [
      "-file-prefix-map", "\(Context.packageDirectory)=.", "-file-compilation-dir", ".", "-Xfrontend",
      "-disable-incremental-llvm-codegen", "-Xfrontend", "-no-clang-module-breadcrumbs",
    ], embedded),
  // Nothing here throws in the C++ sense. A debugger unwinds by .debug_frame, which goes into the symbols package:
  // test_backtrace.py
  .unsafeFlags(["-Xcc", "-fno-asynchronous-unwind-tables", "-Xcc", "-fno-unwind-tables"], embedded),
  // A call of libc by its address in the table that is read-only from the start, instead of a stub for each function.
  .unsafeFlags(["-Xcc", "-fno-plt"], embedded),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

let cSettings: [CSetting] = [
  .unsafeFlags([
    "-Wall", "-Wextra", "-Wformat", "-Werror=format-security", "-Werror", "-fstack-protector-strong",
    "-fvisibility=hidden", "-fPIC", "-Oz",
    "-D_FORTIFY_SOURCE=3", "-fstack-clash-protection", "-ffunction-sections", "-fdata-sections",
    "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-plt",
    "-ffile-prefix-map=\(Context.packageDirectory)=.", "-ffile-compilation-dir=.",
  ])
]

// An absolute path that a distribution sets in the environment of the build; without it, places.c has Debian's.
func place(_ name: String) -> [CSetting] {
  guard let path = Context.environment[name] else { return [] }
  precondition(path.hasPrefix("/") && !path.contains("\""), "\(name) is not an absolute path: \(path)")
  return [.define(name, to: "\"\(path)\"")]
}

// The same for the name of the service account.
func account(_ name: String) -> [CSetting] {
  guard let account = Context.environment[name] else { return [] }
  precondition(
    account.wholeMatch(of: /[a-z_][a-z0-9_-]{0,30}/) != nil,
    "\(name) is not the name of an account: \(account)")
  return [.define(name, to: "\"\(account)\"")]
}

// Where the helper is, the program at the fingerprint reader, the one that asks a verifier, the verifier itself, libpam's
// modules and translations, and who owns the store.
let places =
  [
    "PASSCODE_HELPER_PATH", "PASSCODE_FINGER_PATH", "PASSCODE_FLEET_PATH", "PASSCODE_VERIFIER_PATH",
    "PASSCODE_TOOL_PATH",
    "PASSCODE_MODULE_DIRECTORY", "PASSCODE_LOCALE_DIRECTORY",
  ].flatMap(place) + account("PASSCODE_ACCOUNT")

// Every symbol resolved when the program starts and the tables then made read-only: a caller's
// process offers nothing to overwrite. lld, because it understands Swift's sections.
let hardening: [LinkerSetting] = [
  .unsafeFlags(["-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "now", "-Xlinker", "-z", "-Xlinker", "relro"]),
  // By which a debugger finds the symbols of a stripped program.
  .unsafeFlags(["-Xlinker", "--build-id=sha1"], embedded),
  .unsafeFlags(
    [
      "-Xlinker", "--gc-sections", "-Xlinker", "--as-needed", "-Xlinker", "--icf=all", "-Xlinker", "-z",
      "-Xlinker", "pack-relative-relocs", "-Xlinker", "--no-eh-frame-hdr",
    ], embedded),
  // gcc's startup files call these where somebody defines them: libitm for transactions, gprof's own startup file. Nobody
  // does here, and three names that nobody looks for needn't be in the symbol table.
  .unsafeFlags(
    ["_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__gmon_start__"].flatMap {
      ["-Xlinker", "--defsym=\($0)=0"]
    }, embedded),
]

let package = Package(
  name: "pam_passcode",
  products: [
    .library(name: "pam_passcode", type: .dynamic, targets: ["pam_passcode"]),
    .executable(name: "passcode", targets: ["passcode"]),
    .executable(name: "passcode-helper", targets: ["passcode-helper"]),
    .executable(name: "passcode-finger", targets: ["passcode-finger"]),
    .executable(name: "passcode-fleet", targets: ["passcode-fleet"]),
    .executable(name: "passcode-verifier", targets: ["passcode-verifier"]),
  ],
  traits: [.trait(name: "Embedded", description: "Compile as Embedded Swift: what ships")],
  targets: [
    // C: what Swift can't say (variadics, macros, constructors), and module maps. No decisions.
    .target(name: "CSystem", cSettings: cSettings + places),
    .systemLibrary(name: "CSodium"),
    .systemLibrary(name: "CPAM"),
    .target(name: "CBus", cSettings: cSettings),

    // What bytes spell: numbers, words, literals. Policy hands it on, so that nothing above needs to import it.
    .target(name: "PasscodeBytes", swiftSettings: swiftSettings),
    .target(name: "PasscodePolicy", dependencies: ["PasscodeBytes"], swiftSettings: swiftSettings),
    // Only the tool reads PAM service files.
    .target(name: "PasscodeStacks", dependencies: ["PasscodePolicy"], swiftSettings: swiftSettings),
    .target(
      name: "PasscodeSystem", dependencies: ["PasscodeBytes", "CSystem", "CSodium", "CPAM"],
      swiftSettings: swiftSettings, linkerSettings: [.linkedLibrary("sodium")]),
    // What the other programs ask of the system, and module and helper don't: terminal, options, processes, PAM's client.
    .target(
      name: "PasscodePrograms",
      dependencies: ["PasscodeBytes", "PasscodeSystem", "CSystem", "CSodium", "CPAM"],
      swiftSettings: swiftSettings),
    .target(
      name: "PasscodeVault", dependencies: ["PasscodePolicy", "PasscodeSystem"],
      swiftSettings: swiftSettings),
    // What only administrators do: keys, lists, inspections, batches. Not in the module or the helper.
    .target(
      name: "PasscodeAdmin",
      dependencies: ["PasscodePolicy", "PasscodePrograms", "PasscodeSystem", "PasscodeVault"],
      swiftSettings: swiftSettings),
    // What the administrators' tools share: how they say something in one's language, and how they do
    // a list of users.
    .target(
      name: "PasscodeTool",
      dependencies: ["PasscodePolicy", "PasscodePrograms", "PasscodeSystem", "PasscodeVault"],
      swiftSettings: swiftSettings),
    // A fleet: what is decided, and the formats; and its vault, whose records are in etcd. For passcode-fleet and
    // passcode-verifier alone.
    .target(name: "PasscodeFleetPolicy", dependencies: ["PasscodePolicy"], swiftSettings: swiftSettings),
    .target(
      name: "PasscodeFleet", dependencies: ["PasscodeFleetPolicy", "PasscodePrograms", "PasscodeVault"],
      swiftSettings: swiftSettings),
    // What is said to fprintd and believed of it, for passcode-finger alone.
    .target(name: "PasscodeReader", dependencies: ["PasscodePolicy"], swiftSettings: swiftSettings),
    // sd-bus, for passcode-finger alone: neither the module nor the helper links libsystemd.
    .target(
      name: "PasscodeBus", dependencies: ["CBus", "PasscodeReader", "PasscodeSystem"],
      swiftSettings: swiftSettings,
      linkerSettings: [.linkedLibrary("systemd")]),

    .target(
      name: "pam_passcode", dependencies: ["PasscodeVault", "CPAM", "CSystem"], exclude: ["exports.map"],
      swiftSettings: swiftSettings,
      linkerSettings: hardening + [
        .linkedLibrary("pam"),
        // Only pam_sm_*: a host that is itself Swift must not bind to our copy of its runtime.
        .unsafeFlags(
          ["-Xlinker", "--version-script=\(Context.packageDirectory)/Sources/pam_passcode/exports.map"],
          embedded),
      ]),
    .executableTarget(
      name: "passcode", dependencies: ["PasscodeAdmin", "PasscodeStacks", "PasscodeTool"],
      swiftSettings: swiftSettings,
      linkerSettings: hardening + [.linkedLibrary("pam")]),
    .executableTarget(
      name: "passcode-helper", dependencies: ["PasscodeVault"], swiftSettings: swiftSettings,
      linkerSettings: hardening + [.linkedLibrary("pam")]),
    .executableTarget(
      name: "passcode-finger", dependencies: ["PasscodeBus", "PasscodePrograms", "PasscodeVault"],
      swiftSettings: swiftSettings,
      // For what the helper asks of libpam by PasscodeSystem: after --as-needed, so that it isn't loaded here.
      linkerSettings: hardening + [.unsafeFlags(["-Xlinker", "-lpam"])]),

    // libpam, as above.
    .executableTarget(
      name: "passcode-fleet", dependencies: ["PasscodeFleet"], swiftSettings: swiftSettings,
      linkerSettings: hardening + [.unsafeFlags(["-Xlinker", "-lpam"])]),
    .executableTarget(
      name: "passcode-verifier", dependencies: ["PasscodeAdmin", "PasscodeFleet", "PasscodeTool"],
      swiftSettings: swiftSettings,
      linkerSettings: hardening + [.unsafeFlags(["-Xlinker", "-lpam"])]),

    .testTarget(name: "PasscodePolicyTests", dependencies: ["PasscodeFleetPolicy", "PasscodePolicy"]),
    .testTarget(name: "PasscodeStacksTests", dependencies: ["PasscodeStacks"]),
    .testTarget(name: "PasscodeReaderTests", dependencies: ["PasscodeReader"]),
    .testTarget(
      name: "PasscodeVaultTests", dependencies: ["PasscodeAdmin", "PasscodeFleet"],
      linkerSettings: [.linkedLibrary("pam")]),
  ]
)
