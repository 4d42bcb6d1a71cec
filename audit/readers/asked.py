"""What an expression of a program asks the environment for, and the default that stands beside it, in any language.

`process.env.ACKS ?? 1`, `getenv("ACKS", "1")`, `ENV.fetch("ACKS", 1)`, `env::var("ACKS").unwrap_or("1".into())` are
`${ACKS:1}`, as placeholders of a file are. A helper of the program's own counts if its name has "env" and it is given
a variable and a literal. What the text does not say is not guessed: then it is no such expression.
"""

from __future__ import annotations

import re
from typing import Final

QUOTED: Final = r"(?:\"([^\"\\$#{}]*)\"|'([^'\\$#{}]*)'|(-?\d+|true|false))"
TAIL: Final = (
    r"(?:\s*\??\.\s*(?:to_?string|into|to_owned|as_str|to_?int|toInt(?:OrNull)?|toBoolean|to_i|to_s|trim)\(?\)?)*"
)
NAME: Final = r"[\"'](\w+)[\"']"
CALLED: Final = re.compile(
    rf"(?:[\w.:\\]*?)\w*(?i:env)\w*(?:\(\))?(?:\s*\.\s*(?:get|fetch|getOrDefault|getOrElse|get_or))?"
    rf"\(\s*{NAME}\s*,\s*{QUOTED}{TAIL}\s*\)"
)
"""A function that is given a variable and a default."""
BARE: Final = (
    r"(?:(?:process|Bun|import\.meta)\.env(?:\.(\w+)|\[[\"'](\w+)[\"']\])"
    r"|(?:Deno\.env\.get|(?:std::|os\.)?[gG]etenv|System\.getenv|(?:System\.)?Environment\.GetEnvironmentVariable)"
    r"\(\s*[\"'](\w+)[\"']\s*\)!?"
    r"|(?:ENV|\$_ENV|\$_SERVER|sys\.env)[\[(][\"'](\w+)[\"'][\])])"
)
OR: Final = re.compile(rf"{BARE}{TAIL}\s*(?:(?:\?\?|\|\||\?:)\s*{QUOTED}{TAIL})?")
"""A variable, and perhaps what stands in its place."""
ELSE: Final = re.compile(
    rf"(?:Optional\.ofNullable\(\s*System\.getenv\({NAME}\)\s*\)\s*\.\s*orElse"
    rf"|(?:std::)?env::var\({NAME}\)(?:\s*\.\s*ok\(\))?\s*\.\s*unwrap_or(?:_else)?)"
    rf"\(\s*(?:\|_?\w*\|\s*)?(?:String::from\()?{QUOTED}{TAIL}\)?\s*\)"
)
WRAPPED: Final = re.compile(
    r"(?:(?:[\w.]+\.)?(?:Number|parseInt|String|Int32|Integer|Boolean|parseBoolean|TryParse|Parse|Atoi|int|int16|valueOf)"
    r"|\(\s*int\s*\))?\(\s*(.+?)\s*(?:,\s*10\s*)?\)",
    re.DOTALL,
)
LONGEST: Final = 300
DEEPEST: Final = 3


def asked_of(text: str) -> str | None:
    """What an expression asks the environment for, as a placeholder; None if it asks for nothing.

    >>> asked_of("Number(process.env.ACKS ?? 1)"), asked_of('getEnv("ACKS", "all")'), asked_of("config.acks")
    ('${ACKS:1}', '${ACKS:all}', None)
    >>> asked_of('env::var("ACKS").unwrap_or_else(|_| "1".to_string())'), asked_of("ENV['ACKS'] || '0'")
    ('${ACKS:1}', '${ACKS:0}')
    """
    text = text.strip()
    if len(text) > LONGEST:
        return None
    for _ in range(DEEPEST):
        for pattern in (CALLED, OR, ELSE):
            if found := pattern.fullmatch(text):
                return _placeholder([each for each in found.groups() if each is not None])
        inner = WRAPPED.fullmatch(text.removeprefix("+"))
        if inner is None:
            return None
        text = inner[1]
    return None


def _placeholder(parts: list[str]) -> str:
    return f"${{{parts[0]}:{parts[1]}}}" if len(parts) > 1 else f"${{{parts[0]}}}"
