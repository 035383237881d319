"""Without measuring: `draw` writes the picture and the documents from the figures, `check` compares them."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from compare import output, report, words  # noqa: E402

if sys.argv[1:] == ["draw"]:
    output.write()
elif sys.argv[1:] == ["check"]:
    if stale := output.stale():
        raise SystemExit(f"not what Tests/compare.json says: {', '.join(stale)}; run Tests/compare --draw")
    if not words.is_full(report.read()):
        raise SystemExit("Tests/compare.json is from a quick run: run Tests/compare")
else:
    raise SystemExit("usage: compare draw|check")
