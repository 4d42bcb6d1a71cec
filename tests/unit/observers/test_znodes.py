"""Znodes as a cluster's state, look by look, without ZooKeeper. The JSON is what Kafka wrote, by release."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from evidence.events import Broker, Event, IsrChange, Missed, Znode, of
from harness.observers.state import node_name
from harness.observers.znodes import (
    BROKERS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    ISR_CHANGES,
    MIGRATION,
    PREFERRED_ELECTION,
    REASSIGNMENT,
    ROOTS,
    TOPICS,
    Contents,
    Picture,
    Stat,
    Watch,
    ZnodeRead,
    ZnodeReading,
    parse_partition_state,
)

STATE = Watch("/brokers/topics/t/partitions/0/state", "data")
TOPIC = Watch("/brokers/topics/t", "data")


def stat(zxid: int, *, version: int = 0, created: int | None = None, ms: int = 1000) -> Stat:
    return Stat(version=version, created=zxid if created is None else created, modified=zxid, modified_ms=ms)


def data(watch: Watch, text: str, seen: Stat) -> ZnodeRead:
    return ZnodeRead(watch=watch, stat=seen, data=text.encode())


def children(watch: Watch, *names: str, changes: int = 0) -> ZnodeRead:
    return ZnodeRead(watch=watch, stat=replace(stat(1), child_changes=changes), children=names)


def gone(watch: Watch) -> ZnodeRead:
    return ZnodeRead(watch=watch, stat=None)


def controller(broker: int, zxid: int) -> ZnodeRead:
    return data(CONTROLLER, json.dumps({"version": 1, "brokerid": broker, "timestamp": "1"}), stat(zxid))


def epoch(value: int, zxid: int) -> ZnodeRead:
    return data(CONTROLLER_EPOCH, str(value), stat(zxid, version=value, created=1))


def state(leader: int, leader_epoch: int, isr: list[int], seen: Stat, controller_epoch: int = 1) -> ZnodeRead:
    value = {"controller_epoch": controller_epoch, "leader": leader, "version": 1, "leader_epoch": leader_epoch}
    return data(STATE, json.dumps(value | {"isr": isr}), seen)


def _told(event: Event) -> object:
    assert isinstance(event, Missed | IsrChange | Broker)
    return event.state if isinstance(event, Broker) else event.count if isinstance(event, Missed) else event.path


def also(outcome: ZnodeReading) -> list[tuple[str, object]]:
    return [(event.kind, _told(event)) for event in outcome.also]


@pytest.fixture
def picture() -> Picture:
    return Picture(node_name())


def with_topic(picture: Picture, assignment: str = '{"version":1,"partitions":{"0":[1,2]}}') -> Picture:
    picture.take(children(TOPICS, "t"))
    picture.take(data(TOPIC, assignment, stat(1)))
    return picture


def test_the_epoch_is_looked_at_before_the_controller() -> None:
    assert ROOTS.index(CONTROLLER_EPOCH) < ROOTS.index(CONTROLLER)


class TestController:
    def test_a_controller_counts_once_its_epoch_is_raised(self, picture: Picture) -> None:
        picture.take(epoch(1, 10))
        assert picture.take(controller(4, 20)).state.controller is None
        raised = picture.take(epoch(2, 21)).state
        assert (raised.controller, raised.controller_epoch) == (4, 2)

    def test_one_transaction_for_both_is_enough(self, picture: Picture) -> None:
        picture.take(epoch(2, 20))  # 2.2 and later: one zxid for both znodes
        assert picture.take(controller(4, 20)).state.controller == 4

    def test_the_first_controller_ever_has_no_epoch_at_first(self, picture: Picture) -> None:
        picture.take(gone(CONTROLLER_EPOCH))
        assert picture.take(controller(1, 5)).state.controller is None
        assert picture.take(epoch(1, 6)).state.controller_epoch == 1

    def test_there_are_never_two_controllers_in_one_epoch(self, picture: Picture) -> None:
        """Also when the old one's end and the new one's beginning are one look."""
        picture.take(epoch(1, 10))
        picture.take(controller(1, 9))
        shown = [picture.take(read).state for read in (controller(2, 20), epoch(2, 21))]
        assert [(s.controller, s.controller_epoch) for s in shown] == [(None, 1), (2, 2)]

    def test_an_epoch_raised_again_is_not_that_of_the_controller_before(self, picture: Picture) -> None:
        """The successor's epoch is looked at before the successor: 2.2 and later write both at once."""
        picture.take(epoch(1, 10))
        picture.take(controller(1, 10))
        shown = [picture.take(sight).state for sight in (epoch(2, 20), controller(2, 20))]
        assert [(s.controller, s.controller_epoch) for s in shown] == [(None, 1), (2, 2)]

    def test_no_controller_keeps_the_epoch_of_the_last(self, picture: Picture) -> None:
        picture.take(epoch(3, 10))
        picture.take(controller(1, 9))
        left = picture.take(gone(CONTROLLER)).state
        assert (left.controller, left.controller_epoch) == (None, 3)

    def test_controllers_that_were_not_seen_are_counted(self, picture: Picture) -> None:
        picture.take(epoch(3, 10))
        assert also(picture.take(epoch(4, 11))) == []
        assert also(picture.take(epoch(7, 12))) == [("missed", 2)]

    def test_the_znode_of_3_4_and_later(self, picture: Picture) -> None:
        picture.take(epoch(1, 9))
        text = '{"version":2,"brokerid":3,"timestamp":"1","kraftControllerEpoch":-1}'
        assert picture.take(data(CONTROLLER, text, stat(8))).state.controller == 3


class TestBrokers:
    def test_a_broker_is_there_with_its_znode(self, picture: Picture) -> None:
        outcome = picture.take(children(BROKERS, "2", "1"))
        assert outcome.state.brokers == {1, 2}
        assert outcome.watch == [Watch("/brokers/ids/1", "data"), Watch("/brokers/ids/2", "data")]
        assert picture.take(children(BROKERS, "2")).state.brokers == {2}

    def test_whichever_look_is_first_tells(self, picture: Picture) -> None:
        picture.take(children(BROKERS, "1"))
        assert picture.take(gone(Watch("/brokers/ids/1", "data"))).state.brokers == frozenset()
        back = picture.take(data(Watch("/brokers/ids/1", "data"), "{}", stat(50)))
        assert back.state.brokers == {1}
        assert back.also == []

    def test_a_registration_that_was_replaced_unseen_is_told(self, picture: Picture) -> None:
        picture.take(children(BROKERS, "1"))
        picture.take(data(Watch("/brokers/ids/1", "data"), "{}", stat(50)))
        outcome = picture.take(data(Watch("/brokers/ids/1", "data"), "{}", stat(60)))
        assert also(outcome) == [("missed", 1), ("broker", "gone"), ("broker", "registered")]
        assert outcome.state.brokers == {1}

    def test_no_znode_for_brokers_yet(self, picture: Picture) -> None:
        assert picture.take(gone(BROKERS)).state.brokers == frozenset()


class TestPartitions:
    def test_topic_then_states(self, picture: Picture) -> None:
        assert picture.take(children(TOPICS, "t")).watch == [TOPIC]
        assignment = data(TOPIC, '{"version":2,"partitions":{"1":[2,1],"0":[1,2]},"adding_replicas":{}}', stat(1))
        assert picture.take(assignment).watch == [STATE, Watch("/brokers/topics/t/partitions/1/state", "data")]
        assert picture.take(gone(STATE)).state.partitions == {}
        seen = picture.take(state(1, 0, [1, 2], stat(5, ms=1700))).state.partitions["t", 0]
        assert (seen.leader, seen.leader_epoch, seen.isr, seen.replicas) == (1, 0, (1, 2), (1, 2))
        assert (seen.controller_epoch, seen.version, seen.source_ns) == (1, 0, 1_700_000_000)

    def test_names_with_dashes_and_dots(self, picture: Picture) -> None:
        path = "/brokers/topics/a-b.c_1/partitions/12/state"
        seen = picture.take(ZnodeRead(watch=Watch(path, "data"), stat=stat(3), data=state(1, 0, [1], stat(3)).data))
        assert ("a-b.c_1", 12) in seen.state.partitions

    def test_states_that_were_skipped_are_counted(self, picture: Picture) -> None:
        with_topic(picture)
        picture.take(state(1, 0, [1, 2], stat(5, version=0, created=5)))
        assert picture.take(state(1, 0, [1], stat(6, version=1, created=5))).also == []
        outcome = picture.take(state(2, 3, [2], stat(9, version=4, created=5)))
        assert also(outcome) == [("missed", 2)]
        assert of(outcome.also, Missed)[0].topic == "t"

    def test_a_topic_made_anew_begins_anew(self, picture: Picture) -> None:
        with_topic(picture)
        picture.take(state(1, 4, [1, 2], stat(5, version=7, created=5)))
        assert picture.take(children(TOPICS)).state.partitions == {}
        with_topic(picture)
        assert picture.take(state(2, 0, [2], stat(50, version=0, created=50))).also == []

    def test_a_topic_made_anew_unseen_is_no_jump_of_versions(self, picture: Picture) -> None:
        with_topic(picture)
        picture.take(state(1, 4, [1, 2], stat(5, version=0, created=5)))
        assert picture.take(state(2, 0, [2], stat(50, version=3, created=50))).also == []

    def test_reassignment_shows_in_the_replicas(self, picture: Picture) -> None:
        with_topic(picture)
        picture.take(state(1, 0, [1, 2], stat(5)))
        moved = picture.take(data(TOPIC, '{"version":1,"partitions":{"0":[2,1,3]}}', stat(1))).state
        assert moved.partitions["t", 0].replicas == (2, 1, 3)
        assert (moved.partitions["t", 0].adding, moved.partitions["t", 0].removing) == (None, None)

    def test_from_2_4_on_the_topic_says_what_is_added_and_removed(self, picture: Picture) -> None:
        with_topic(picture)
        picture.take(state(1, 0, [1, 2], stat(5)))
        moving = '{"version":3,"partitions":{"0":[3,1,2]},"adding_replicas":{"0":[3]},"removing_replicas":{"0":[1,2]}}'
        moved = picture.take(data(TOPIC, moving, stat(6, version=1, created=1))).state.partitions["t", 0]
        assert (moved.replicas, moved.adding, moved.removing) == ((3, 1, 2), (3,), (1, 2))
        over = '{"version":3,"partitions":{"0":[3]},"adding_replicas":{},"removing_replicas":{}}'
        moved = picture.take(data(TOPIC, over, stat(7, version=2, created=1))).state.partitions["t", 0]
        assert (moved.replicas, moved.adding, moved.removing) == ((3,), (), ())

    def test_3_2_adds_a_recovery_state_and_no_leader_is_minus_one(self) -> None:
        text = b'{"controller_epoch":1,"leader":-1,"version":1,"leader_epoch":2,"isr":[1],"leader_recovery_state":0}'
        assert parse_partition_state(text, stat(1)).leader == -1

    @pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"leader":1}', '{"leader":null,"isr":[]}', "\xff"])
    def test_what_is_no_state_changes_nothing(self, picture: Picture, text: str) -> None:
        with_topic(picture)
        before = picture.take(state(1, 0, [1, 2], stat(5))).state
        with pytest.raises(ValueError, match=r".+"):
            picture.take(ZnodeRead(watch=STATE, stat=stat(6, version=1, created=5), data=text.encode("latin-1")))
        assert picture.state is before
        assert picture.take(state(1, 0, [1], stat(7, version=1, created=5))).also == []


class TestContents:
    ASKED = '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[3,4]}]}'

    @pytest.fixture
    def contents(self) -> Contents:
        return Contents()

    @pytest.mark.parametrize("watch", [REASSIGNMENT, PREFERRED_ELECTION])
    def test_a_request_is_told_with_its_content_and_when_it_is_gone(self, contents: Contents, watch: Watch) -> None:
        assert contents.take(gone(watch)) == []
        asked = Znode(path=watch.path, content=json.loads(self.ASKED), created=2)
        assert contents.take(data(watch, self.ASKED, stat(2))) == [asked]
        assert contents.take(data(watch, self.ASKED, stat(2))) == []
        assert contents.take(gone(watch)) == [Znode(path=watch.path, content=None)]
        assert contents.take(gone(watch)) == []

    def test_each_content_is_told_with_all_that_the_znode_holds(self, contents: Contents) -> None:
        (told,) = contents.take(data(TOPIC, '{"version":3,"partitions":{"0":[1,2]},"topic_id":"x"}', stat(1)))
        content = {"version": 3, "partitions": {"0": [1, 2]}, "topic_id": "x"}
        assert told == Znode(path=TOPIC.path, content=content, created=1)
        assert contents.take(state(1, 0, [1, 2], stat(5, version=3, created=2)))[0].version == 3
        assert contents.take(epoch(4, 9))[0].content == 4

    def test_a_session_makes_a_znode_ephemeral(self, contents: Contents) -> None:
        read = replace(controller(2, 7), stat=replace(stat(7), session=5))
        assert contents.take(read)[0].ephemeral
        assert not contents.take(controller(2, 8))[0].ephemeral

    def test_the_same_content_made_anew_is_told(self, contents: Contents) -> None:
        assert len(contents.take(controller(2, 7))) == len(contents.take(controller(2, 8))) == 1

    def test_names_of_children_are_no_content(self, contents: Contents) -> None:
        assert contents.take(children(TOPICS, "t")) == []

    def test_what_is_no_content_changes_nothing(self, contents: Contents) -> None:
        with pytest.raises(ValueError, match="not a JSON object"):
            contents.take(data(REASSIGNMENT, "[]", stat(2)))
        assert contents.take(gone(REASSIGNMENT)) == []


class TestIsrChanges:
    FOUR, FIVE = (f"/isr_change_notification/isr_change_000000000{number}" for number in (4, 5))

    def test_each_is_told_once(self, picture: Picture) -> None:
        first = picture.take(children(ISR_CHANGES, "isr_change_0000000004"))
        assert also(first) == [("isr-change", self.FOUR)]
        second = picture.take(children(ISR_CHANGES, "isr_change_0000000005", "isr_change_0000000004"))
        assert also(second) == [("isr-change", self.FIVE)]

    def test_what_one_holds_is_told_while_it_is_there(self, picture: Picture) -> None:
        watch = Watch(self.FOUR, "data")
        assert picture.take(children(ISR_CHANGES, "isr_change_0000000004")).watch == [watch]
        text = '{"version":1,"partitions":[{"topic":"t","partition":0},{"topic":"u","partition":2}]}'
        (told,) = picture.take(data(watch, text, stat(2))).also
        assert told == IsrChange(path=self.FOUR, state="holds", partitions=("t-0", "u-2"))
        assert picture.take(gone(watch)).also == []
        with pytest.raises(ValueError, match="not a notification"):
            picture.take(data(watch, '{"partitions":[3]}', stat(2)))

    def test_one_that_is_gone_was_read(self, picture: Picture) -> None:
        assert picture.take(children(ISR_CHANGES, "isr_change_0000000004")).state.isr_changes_read == 0
        outcome = picture.take(children(ISR_CHANGES))
        assert outcome.also == [IsrChange(path=self.FOUR, state="gone")]
        assert outcome.state.isr_changes_read == 1

    def test_those_that_came_and_went_are_counted(self, picture: Picture) -> None:
        picture.take(children(ISR_CHANGES, "isr_change_0000000004", changes=1))
        picture.take(children(ISR_CHANGES, changes=2))
        outcome = picture.take(children(ISR_CHANGES, "isr_change_0000000008", changes=9))
        assert [event.kind for event in outcome.also] == ["missed", "isr-change"]
        assert also(outcome)[0] == ("missed", 3)
        assert outcome.state.isr_changes_read == 4
        assert picture.take(children(ISR_CHANGES, changes=10)).state.isr_changes_read == 5


class TestMigration:
    def test_a_controller_has_the_metadata_once_it_says_up_to_where(self, picture: Picture) -> None:
        assert picture.state.migrated_to is None
        assert picture.take(gone(MIGRATION)).state.migrated_to is None
        assert picture.take(migration(-1)).state.migrated_to is None
        assert picture.take(migration(41)).state.migrated_to == 100
        assert picture.take(gone(MIGRATION)).state.migrated_to is None

    def test_what_does_not_say_is_none(self, picture: Picture) -> None:
        with pytest.raises(ValueError, match="not the state of a migration"):
            picture.take(data(MIGRATION, '{"version":0,"kraft_controller_id":100}', stat(8)))
        assert picture.state.migrated_to is None


def migration(offset: int) -> ZnodeRead:
    """As 3.5.1 and 3.9.2 write it."""
    epochs = '"kraft_metadata_epoch":1,"kraft_controller_epoch":1'
    return data(
        MIGRATION, f'{{"version":0,"kraft_metadata_offset":{offset},"kraft_controller_id":100,{epochs}}}', stat(8)
    )
