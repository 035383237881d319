"""Where a report goes: the figures, the picture, and the documents that show them."""

from compare import picture, report, words
from compare.peers import FOLDER, TREE


def shown(figures):
    """{path: text} of everything that is made from the figures."""
    return {report.PICTURE: picture.drawn(figures), **words.documents(figures)}


def keep(figures):
    """In full, in the tree; of a quick run only what it measured and drew, below .build."""
    if figures["taken"]["mode"] == "full":
        report.FILE.write_text(report.text(figures))
        write()
        return report.FILE
    file = FOLDER / "quick.json"
    file.write_text(report.text(figures))
    file.with_suffix(".svg").write_text(picture.drawn(figures))
    return file


def write():
    for path, text in shown(report.read()).items():
        path.write_text(text)


def stale():
    """The files that don't say what the figures say."""
    there = {path: path.read_text() if path.exists() else "" for path in shown(report.read())}
    return [str(path.relative_to(TREE)) for path, text in shown(report.read()).items() if there[path] != text]
