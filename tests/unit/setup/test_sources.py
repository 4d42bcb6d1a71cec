"""apt's sources as they are found on real machines: which of them is a mirror of Debian, and the order to try."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.setup.sources import DEBIAN, DEBIAN_KEYS, Mirror, Source, keyring, machine_sources, mirrors, parse, stanza

CLOUD = """\
Types: deb deb-src
URIs: mirror+file:///etc/apt/mirrors/debian.list
Suites: bookworm bookworm-updates bookworm-backports
Components: main

Types: deb deb-src
URIs: mirror+file:///etc/apt/mirrors/debian-security.list
Suites: bookworm-security
Components: main
"""
CONTAINER = """\
Types: deb
# http://snapshot.debian.org/archive/debian/20250520T000000Z
URIs: http://deb.debian.org/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
# http://snapshot.debian.org/archive/debian-security/20250520T000000Z
URIs: http://deb.debian.org/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""
INSTALLER = """\
#deb cdrom:[Debian GNU/Linux 12.5.0 _Bookworm_ - Official amd64 DVD]/ bookworm main non-free-firmware

deb cdrom:[Debian GNU/Linux 12.5.0 _Bookworm_ - Official amd64 DVD]/ bookworm main non-free-firmware
deb-src http://src.example/debian/ bookworm main
deb [ signed-by=/k.gpg arch=amd64 ] https://m.example/pub/packages/ bookworm main contrib # ours
deb http://security.debian.org/debian-security bookworm-security main
"""
UBUNTU = """\
Types: deb
URIs: http://archive.ubuntu.com/ubuntu
Suites: noble noble-updates noble-backports
Components: main restricted universe multiverse
Signed-By: /usr/share/keyrings/ubuntu-archive-keyring.gpg
"""
VENDOR = "deb [signed-by=/etc/apt/keyrings/vendor.gpg] https://packages.vendor.example/tool/debian bookworm main\n"
LISTS = {
    "/etc/apt/mirrors/debian.list": "# by hand\nhttps://near.example/d\tpriority:1 type:deb\n\nhttp://far.example/debian\n",
    "/etc/apt/mirrors/loop.list": "mirror+file:/etc/apt/mirrors/loop.list\n",
}


def _read(path: Path) -> str:
    return LISTS.get(str(path), "")


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        (CLOUD, ["https://near.example/d", "http://far.example/debian"]),
        (CONTAINER, []),
        (INSTALLER, ["https://m.example/pub/packages/"]),
        (UBUNTU, []),
        ("deb mirror+file:/etc/apt/mirrors/loop.list sid main", []),
        ("deb mirror+file:/etc/apt/mirrors/missing.list sid main", []),
        ("deb http://m.example/debian bookworm contrib", []),
        ("deb http://m.example/debian bookworm-security main", []),
        ("deb-src http://m.example/debian bookworm main", []),
        ("# deb http://m.example/debian bookworm main", []),
        ("deb file:/srv/mirror trixie main", []),
        ("Types: deb\nURIs: http://m.example/x\nSuites: sid\nComponents: main\nEnabled: no\n", []),
        ("Types: deb-src\nURIs: http://m.example/x\nSuites: sid\nComponents: main\n", []),
        (
            "types: deb\nuris: http://m.example/x\n http://n.example\nsuites: sid\ncomponents: main\n",
            ["http://m.example/x", "http://n.example"],
        ),
        ("", []),
    ],
)
def test_the_mirrors_of_a_machine_and_debians_own_at_last(text: str, addresses: list[str]) -> None:
    assert [mirror.uri for mirror in mirrors(parse(text), _read)] == [*addresses, DEBIAN.uri]


def test_a_vendor_whose_suites_are_called_like_debians_comes_after_debians_mirrors() -> None:
    found = [mirror.uri for mirror in mirrors([*parse(VENDOR), *parse(CLOUD)], _read)]
    assert found[2:] == ["https://packages.vendor.example/tool/debian", DEBIAN.uri]


def test_a_mirror_is_tried_once_with_the_keys_that_the_machine_names() -> None:
    assert mirrors(parse(CONTAINER)) == [Mirror(uri=DEBIAN.uri, signed_by=str(DEBIAN_KEYS))]
    plain = "deb http://deb.debian.org/debian/ bookworm main\ndeb http://deb.debian.org/debian bookworm main\n"
    assert mirrors(parse(plain)) == [Mirror(uri=f"{DEBIAN.uri}/")]


def test_a_stanza_keeps_mirror_and_keys() -> None:
    assert stanza(Mirror(uri="http://m.example/debian", signed_by="/k.gpg"), "trixie").splitlines() == [
        "Types: deb",
        "URIs: http://m.example/debian",
        "Suites: trixie",
        "Components: main",
        "Signed-By: /k.gpg",
    ]
    assert "Signed-By" not in stanza(Mirror(uri="http://m.example"), "trixie")


def test_a_whole_key_in_a_source_is_kept_as_it_is() -> None:
    text = (
        "Types: deb\nURIs: http://m.example\nSuites: sid\nComponents: main\n"
        "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQ=\n -----END PGP PUBLIC KEY BLOCK-----\n"
    )
    (mirror, _) = mirrors(parse(text))
    assert stanza(mirror, "sid") == text
    assert keyring(mirror) == DEBIAN_KEYS


def test_the_keyring_is_the_mirrors_own_if_it_is_here(tmp_path: Path) -> None:
    own = tmp_path / "k.gpg"
    assert keyring(Mirror(uri="http://m.example", signed_by=str(own))) == DEBIAN_KEYS
    own.touch()
    assert keyring(Mirror(uri="http://m.example", signed_by=str(own))) == own
    assert keyring(Mirror(uri="http://m.example")) == DEBIAN_KEYS


def test_the_files_of_a_machine(tmp_path: Path) -> None:
    assert list(machine_sources(tmp_path)) == []
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (tmp_path / "sources.list").write_text("deb http://a.example sid main\n")
    (parts / "b.sources").write_text(CONTAINER.replace("deb.debian.org", "b.example"))
    (parts / "c.list.save").write_text("deb http://c.example sid main\n")
    (parts / "d.list").mkdir()
    assert [source.uris[0] for source in machine_sources(tmp_path)] == [
        "http://a.example",
        "http://b.example/debian",
        "http://b.example/debian-security",
    ]


words = st.from_regex(r"[a-z][a-z0-9.-]{0,8}", fullmatch=True)
uris = st.builds("{}://{}/{}".format, st.sampled_from(["http", "https"]), words, words)
sources = st.builds(
    Source,
    uris=st.tuples(uris),
    suites=st.tuples(words),
    components=st.lists(words, min_size=1, max_size=3).map(tuple),
    signed_by=st.one_of(st.just(""), words.map("/{}.gpg".format)),
)


def _one_line(source: Source) -> str:
    options = f"[arch=amd64 signed-by={source.signed_by}] " if source.signed_by else ""
    return f"deb {options}{source.uris[0]}\t{source.suites[0]} {' '.join(source.components)}\n"


def _deb822(source: Source) -> str:
    keys = f"Signed-By: {source.signed_by}\n" if source.signed_by else ""
    components = "\n  ".join(source.components)
    return (
        f"Enabled: yes\nTypes: deb-src deb\n# why\nURIs: {source.uris[0]}\nSuites: {source.suites[0]}\n"
        f"{keys}Components: {components}\n\n"
    )


@given(st.lists(sources, max_size=4))
def test_both_styles_say_the_same(given_sources: list[Source]) -> None:
    assert list(parse("".join(map(_one_line, given_sources)))) == given_sources
    assert list(parse("".join(map(_deb822, given_sources)))) == given_sources
