"""Answers for Python's urllib.robotparser. The protocol is in bench/driver.go.

    go run . -driver 'robotparser=python3 drivers/robotparser.py'
"""

import sys
from urllib.robotparser import RobotFileParser


def main():
    lines, answers, parser = sys.stdin.buffer, sys.stdout, None
    while line := lines.readline():
        word, count, *token = line.decode().rstrip("\n").split(" ", 2)
        if word == "file":
            parser = RobotFileParser()
            parser.parse(lines.read(int(count)).decode("utf-8", "replace").splitlines())
            continue
        urls = [lines.readline().decode().rstrip("\n") for _ in range(int(count))]
        answers.write("".join("01"[parser.can_fetch(token[0], url)] for url in urls) + "\n")
        answers.flush()


main()
