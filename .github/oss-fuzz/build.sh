#!/bin/bash -eu
# For OSS-Fuzz: puts the fuzz targets into $OUT, each with its corpus. They are linked with everything but libc and libstdc++,
# which is all that the machines they run on have; so those that need libpam aren't among them: Account, Entry, Libpam, Tool.
#
# Not tried with OSS-Fuzz's images, only as: SRC=. OUT=FOLDER .github/oss-fuzz/build.sh, in a folder with pam_passcode.
targets=(Base64 Batch Etcd Finger Fleet Helper JSON Key Options Reader Record Stacks Values Ward Weakness)

# Its symbolizer knows Swift's names.
if [[ -e /usr/local/bin/precompile_swift ]]; then . precompile_swift; fi
cd "$SRC/pam_passcode"
Tests/fuzz --build "${targets[@]/#/--only=}"
for target in "${targets[@]}"; do
  cp ".build/fuzz/fuzzer-address/Fuzz$target" "$OUT/"
  (cd "Tests/Fuzz/Corpus/$target" && python3 -m zipfile -c "$OUT/Fuzz${target}_seed_corpus.zip" ./*)
done
