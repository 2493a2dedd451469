"""Write docs/results.md from the pages under docs/results: nothing in it is typed by hand."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from pages import PAGES, read_stamp

TARGET = PAGES.parent / "results.md"
# Chapters and their pages, in the order to read them; pages that are not named come last.
CHAPTERS = {
    "The publications": (
        *("constructive", "constructive_fresh", "budget", "paths", "fctree", "recursive"),
        "landmarks",
    ),
    "Speed": ("speed", "speed_growth", "speed_paths", "speed_landmarks", "speed_peers"),
    "Accuracy beside others": ("compare_features", "learners"),
    "AutoFeatures": ("auto_gap", "auto_mixed", "auto_noise"),
}
# What stands on top of everything: the sentences of a page that one of these matches.
FINDINGS = {
    "constructive": r"Beside the published errors: [^.]*\.|Plain .*? beside scikit-learn's [^.]*\.",
    "paths": r"Paths[\w ]* against original columns[^:]*: [^.]*\.",
    "fctree": r"FCT against original, \w+: .*(?=\.)",
    "recursive": r"Beside [^,]*, the best recursion is lower on [^)]*\)",
    "landmarks": (r"[\w. ]+: kernel features are [^;]*(?=;)|Beside the published errors: [^.]*\."),
    "speed": r"\d+ of \d+ bars hold",
    "speed_growth": r"\d+ of \d+ bars hold",
    "speed_paths": r"\d+ of \d+ bars hold",
    "speed_landmarks": r"\d+ of \d+ bars hold",
    "compare_features": r"[\w ]+: mean rank of AutoFeatures .*(?=\.)",
    "learners": r"our [\w-]+ alone among the others: .*",
    "auto_gap": r"(?:50 formulas|all methods): mean share .*(?=\.)",
    "auto_noise": r"Columns were kept for nothing in .*|Nothing was kept in any of .*",
    "auto_mixed": r"\d+ better, \d+ within noise, \d+ worse|claimed minus real .*(?=\.)",
}
WORDS = """Words and signs of the tables: RF is a random forest, ET Extra-Trees, HGB scikit-learn's
histogram gradient boosting; K is the search budget (candidates at each node), D the most symbols of
a formula, n in a budget such as 10n and f the number of columns; RST is recursive selective
transformation, FCT the feature construction tree, TFC all operators on all pairs of columns;
"better" and "worse" mean by more than two standard errors, everything else is "within noise"."""
LAST = "More measurements"
UNKNOWN = "not recorded"


def chapters(folder: Path) -> dict[str, list[Path]]:
    """Sort the pages of a folder into chapters; empty chapters are left out."""
    there = {path.stem: path for path in sorted(folder.glob("*.md"))}
    found = {
        title: [there.pop(name) for name in names if name in there]
        for title, names in CHAPTERS.items()
    }
    found[LAST] = list(there.values())
    return {title: pages for title, pages in found.items() if pages}


def title_of(text: str) -> str:
    """Give the first heading of a page."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1] if found else "Untitled"


def anchor(title: str) -> str:
    """Give the address of a heading within a page."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def moved(text: str, folder: str) -> str:
    """Lower the headings of a page by two and point its pictures to its folder."""
    lines, fenced = [], False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        lines.append(f"##{line}" if not fenced and re.match(r"#+ ", line) else line)
    return re.sub(r"(!\[[^\]]*\]\()(?!https?:)([^)]+\))", rf"\1{folder}/\2", "\n".join(lines))


def findings(name: str, text: str) -> str:
    """Give the sentences of a page that sum it up, as one; "" where there are none."""
    if name not in FINDINGS:
        return ""
    found = re.findall(FINDINGS[name], text)
    return "; ".join(sentence.strip().rstrip(".") for sentence in found)


def build(folder: Path = PAGES) -> str:
    """Put the page together.

    Parameters
    ----------
    folder : Path
        Where the pages of the benchmarks are.

    Returns
    -------
    str
        Markdown; the same for the same pages.
    """
    contents, bodies, machines, short = [], [], [], []
    for chapter, paths in chapters(folder).items():
        contents.append(f"\n**{chapter}**\n")
        bodies.append(f"## {chapter}")
        for path in paths:
            text = path.read_text(encoding="utf-8").rstrip()
            stamp = read_stamp(text)
            if stamp and stamp["machine"] not in machines:
                machines.append(stamp["machine"])
            size = f"{stamp['size']} run, {stamp['date']}" if stamp else f"run {UNKNOWN}"
            title = title_of(text)
            contents.append(
                f"- [{title}](#{anchor(title)}): {size}, [alone]({folder.name}/{path.name})"
            )
            bodies.append(moved(text, folder.name))
            if said := findings(path.stem, text):
                short.append(f"- [{title}](#{anchor(title)}): {said}.")
    machine = "\n".join(f"- {found}" for found in machines) or f"- {UNKNOWN}"
    head = """# Results

Written by `python benchmarks/results_page.py` from the pages under docs/results, which the
benchmarks write: `make papers`, `make bench` and `make compare`, each with `SIZE=full` for the
large size. Every page ends with its run: size, date, command, machine and versions; a "custom" run
has sizes of its own, which its command says. A page of a large run is not replaced by a small
one."""
    parts = [head]
    if short:
        parts.append("In short, in the words of the pages:\n\n" + "\n".join(short))
    parts += [WORDS, f"Machines and versions:\n\n{machine}", "\n".join(contents).strip()]
    parts += bodies
    return "\n\n".join(parts) + "\n"


def write_results(folder: Path = PAGES, target: Path = TARGET) -> None:
    """Write the page, by a name of its own first."""
    part = target.with_name(f"{target.name}.part")
    part.write_text(build(folder), encoding="utf-8")
    part.replace(target)


def main() -> None:
    """Write it, or with --check leave with 1 if it is not up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only tell whether it is up to date")
    if not parser.parse_args().check:
        write_results()
    elif not TARGET.exists() or TARGET.read_text(encoding="utf-8") != build():
        sys.exit(f"{TARGET.name} is not what the pages say: run this without --check.")


if __name__ == "__main__":
    main()
