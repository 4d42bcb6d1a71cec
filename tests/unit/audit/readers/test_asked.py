"""What expressions of programs ask the environment for, in any language."""

from __future__ import annotations

import pytest

from audit.readers.asked import asked_of


@pytest.mark.parametrize(
    ("expression", "placeholder"),
    [
        ("process.env.ACKS", "${ACKS}"),
        ("process.env['ACKS'] || '1'", "${ACKS:1}"),
        ("Number(process.env.ACKS ?? -1)", "${ACKS:-1}"),
        ("parseInt(process.env.ACKS || '1', 10)", "${ACKS:1}"),
        ('os.Getenv("ACKS")', "${ACKS}"),
        ('getEnv("ACKS", "all")', "${ACKS:all}"),
        ('System.getenv().getOrDefault("ACKS", "1")', "${ACKS:1}"),
        ('System.getenv("ACKS") ?: "1"', "${ACKS:1}"),
        ('Optional.ofNullable(System.getenv("ACKS")).orElse("1")', "${ACKS:1}"),
        ('sys.env.getOrElse("ACKS", "1")', "${ACKS:1}"),
        ('Environment.GetEnvironmentVariable("ACKS") ?? "1"', "${ACKS:1}"),
        ('int.Parse(Environment.GetEnvironmentVariable("ACKS") ?? "1")', "${ACKS:1}"),
        ('env::var("ACKS").unwrap_or_else(|_| "1".to_string())', "${ACKS:1}"),
        ('std::env::var("ACKS").unwrap_or("1".into())', "${ACKS:1}"),
        ("ENV.fetch('ACKS', 1)", "${ACKS:1}"),
        ("getenv('ACKS') ?: 'all'", "${ACKS:all}"),
        ("env('ACKS', 'all')", "${ACKS:all}"),
        ("config.acks", None),
        ("process.env.ACKS === '1'", None),
        ('get("ACKS", "1")', None),
        ('getEnv("ACKS", other())', None),
        ('process.env.ACKS ? "1" : "all"', None),
    ],
)
def test_what_is_asked(expression, placeholder) -> None:
    assert asked_of(expression) == placeholder
