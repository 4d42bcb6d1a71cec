"""What makes audit/known/ of what releases answer."""

from __future__ import annotations

from harness.setup.known_settings import Keys, librdkafka_keys, spans

PAGE = """
Property              | C/P | Range        | Default | Importance | Description
----------------------|-----|--------------|--------:|------------|--------------------------
enable.idempotence    |  P  | true, false  |   false | high       | When set to `true` … <br>*Type: boolean*
max.in.flight         |  *  | 1 .. 1000000 | 1000000 | low        | Alias for `max.in.flight.requests.per.connection`: M
group.id              |  C  |              |         | high       | Client group id string. <br>*Type: string*
request.required.acks |  P  | -1 .. 1000   |      -1 | high       | `0`=Broker … | `-1` <br>*Type: integer*
acks                  |  P  |              |         | high | Alias for `request.required.acks`: <br>*Type: integer*
"""
OLD = "message.send.max.retries | P | 0 .. 10000000 | 2 | How many times to retry. <br>*Type: integer*"


def test_the_producers_keys_of_a_page() -> None:
    keys = librdkafka_keys(PAGE)
    assert keys.keys() == {"enable.idempotence", "max.in.flight", "request.required.acks", "acks"}
    assert keys["request.required.acks"] == {"default": "-1", "valid": "-1 .. 1000", "type": "integer"}
    assert keys["acks"]["default"] == "-1"
    assert keys["max.in.flight"]["alias"] == "max.in.flight.requests.per.connection"


def test_a_page_without_the_column_of_importance() -> None:
    assert librdkafka_keys(OLD) == {
        "message.send.max.retries": {"default": "2", "valid": "0 .. 10000000", "type": "integer"}
    }


def test_a_key_that_goes_and_comes_back_has_two_spans() -> None:
    told = spans({"1.0": {"a": {"default": "x"}}, "2.0": {}, "10.0": {"a": {"default": "x"}}})
    assert [(span["from"], span["to"]) for span in told["a"]] == [("1.0", "1.0"), ("10.0", "10.0")]


def test_a_default_that_changes_begins_a_span() -> None:
    asked: dict[str, Keys] = {
        "9.0": {"a": {"default": "0"}},
        "10.0": {"a": {"default": "1"}},
        "11.0": {"a": {"default": "1"}},
    }
    assert [(span["from"], span["to"], span["default"]) for span in spans(asked)["a"]] == [
        ("9.0", "9.0", "0"),
        ("10.0", "11.0", "1"),
    ]
