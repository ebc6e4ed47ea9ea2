"""Plants the slips of slips.txt in a copy of the source, for questions 13, 14 and 17: python3 slips.py FOLDER, where FOLDER is the copy.
Nothing of it is on without an environment variable: SLIP_LABEL, SLIP_RATE, SLIP_DEAD, SLIP_EMPTIED, SLIP_ONE, SLIP_JUMP, SLIP_PAY, SLIP_END, SLIP_BLIND."""
import os, sys
for part in open(os.path.join(os.path.dirname(__file__), "slips.txt")).read().split("\n---\n"):
    head, body = part.split("\nold:\n"); old, new = body.rstrip("\n").split("\nnew:\n")
    path = os.path.join(sys.argv[1], next(l[6:] for l in head.splitlines() if l.startswith("file: ")))
    text = open(path).read()
    assert text.count(old + "\n") == 1, (path, old)
    open(path, "w").write(text.replace(old + "\n", new + "\n"))
