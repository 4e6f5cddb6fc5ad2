"""Many changes in one program, each behind its number, so that they are built once and not one by one."""

import bisect
import collections

from changes import body, changed

# Read once and without a lock; `u32::MAX` is not read yet. The crate is not to ask its surroundings, but this
# is never the crate that anybody uses.
NUMBER = """
#[doc(hidden)]
#[allow(missing_docs, clippy::all, unused)]
pub mod mutation {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NUMBER: AtomicU32 = AtomicU32::new(u32::MAX);
    #[inline]
    pub fn number() -> u32 {
        match NUMBER.load(Ordering::Relaxed) {
            u32::MAX => read(),
            number => number,
        }
    }
    #[cold]
    fn read() -> u32 {
        let text = std::env::var("MUTATION").unwrap_or_default();
        let number = text.parse().unwrap_or(0);
        NUMBER.store(number, Ordering::Relaxed);
        number
    }
}
"""


class Switched:
    """The files of a tree with changes in them. `unviable` are those that do not build."""

    def __init__(self, tree, changes):
        self.tree = tree
        self.files = collections.defaultdict(list)
        for number, change in enumerate(changes, 1):
            self.files[change["file"]].append((number, change))
        self.original = {file: (tree / file).read_text() for file in [*self.files, "crates/core/src/lib.rs"]}
        self.unviable = set()
        # Of each file the first lines of its changes in order, and their numbers; 0 is the function as it was.
        self.lines = {}

    def write(self):
        self.restore()
        for file, numbered in self.files.items():
            text, self.lines[file] = switched(self.original[file], [
                (number, change) for number, change in numbered if number not in self.unviable
            ])
            (self.tree / file).write_text(text)
        library = self.tree / "crates/core/src/lib.rs"
        library.write_text(library.read_text() + NUMBER)

    def restore(self):
        for file, text in self.original.items():
            (self.tree / file).write_text(text)

    def blame(self, file, line):
        """The number of the change that a line belongs to, if it belongs to one."""
        starts = self.lines.get(file, [])
        at = bisect.bisect_right(starts, (line, float("inf"))) - 1
        return starts[at][1] if at >= 0 else 0


def switched(text, numbered):
    """A file with all of some changes, and the lines where each begins."""
    functions = collections.defaultdict(list)
    for number, change in numbered:
        functions[body(text, change)].append((number, change))
    parts, lines, at, line = [], [], 0, 1

    def add(part):
        nonlocal line
        parts.append(part)
        line += part.count("\n")

    for (begin, end), inside in sorted(functions.items()):
        add(text[at:begin] + " match crate::mutation::number() {\n")
        for number, change in inside:
            lines.append((line, number))
            add(f"{number} => {{ {changed(text, change, begin, end)} }}\n")
        lines.append((line, 0))
        add(f"_ => {{ {text[begin:end]} }}\n}} ")
        at = end
    add(text[at:])
    return "".join(parts), lines
