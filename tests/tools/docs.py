#!/usr/bin/env python3
"""docs.py PROGRAM [--check]: writes the table of keys, as PROGRAM prints it, into README.md and kprof.1, between
their markers.

--check changes nothing and fails if a file would change."""
import subprocess
import sys

PLACES = (("README.md", "md", "<!-- keys: made by make docs -->\n", "<!-- end of keys -->\n"),
          ("kprof.1", "mdoc", '.\\" keys: made by make docs\n', '.\\" end of keys\n'))


def main():
    program, check = sys.argv[1], "--check" in sys.argv[2:]
    passed = failed = 0
    for path, form, begin, end in PLACES:
        with open(path) as f:
            old = f.read()
        table = subprocess.run([program, form], check=True, stdout=subprocess.PIPE, text=True).stdout
        head, rest = old.split(begin)
        new = head + begin + table + end + rest.split(end)[1]
        if not check and new != old:
            with open(path, "w") as f:
                f.write(new)
        if check and new != old:
            print("FAIL the keys in %s differ from those of the program: run make docs" % path)
            failed += 1
        else:
            print("ok   keys of " + path)
            passed += 1
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
