"""Whose job is next, judged by counting batches: a clock would say how busy the machine is."""

from collections import Counter, defaultdict

from hypothesis import given
from hypothesis import strategies as st

from feedkeep.store.batch import FairQueue

MAX_WEIGHT, MAX_SHARE = 12, 4
JOBS = st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 3 * MAX_SHARE)), max_size=40)


def queue_of(*jobs: tuple[str, int]) -> FairQueue[tuple[str, int]]:
    queue: FairQueue[tuple[str, int]] = FairQueue(MAX_WEIGHT, MAX_SHARE)
    for owner, weight in jobs:
        queue.add((owner, weight), weight, owner)
    return queue


def batches_of(queue: FairQueue[tuple[str, int]]) -> list[list[tuple[str, int]]]:
    batches = []
    while queue:
        batches.append(queue.next_batch())
    return batches


def test_however_much_bulk_an_account_has_queued_anothers_write_waits_for_one_batch_of_it():
    queue = queue_of(*[("bulk", 5_000)] * 8)
    for _ in range(4):  # each comes while a batch of bulk runs, or one of small writes
        assert queue.next_batch() == [("bulk", 5_000)]
        queue.add(("other", 1), 1, "other")
        assert queue.next_batch() == [("other", 1)]
        queue.add(("other", 1), 1, "other")
        assert [queue.next_batch() for _ in range(2)] == [[("bulk", 5_000)], [("other", 1)]]
    assert not queue


def test_however_many_small_writes_an_account_has_queued_anothers_is_in_the_next_batch():
    queue = queue_of(*[("many", 1)] * 1_000, ("other", 1))
    assert Counter(owner for owner, _ in queue.next_batch()) == {"many": MAX_SHARE, "other": 1}


def test_bulk_is_not_put_off_by_small_writes_and_its_owners_take_turns():
    queue = queue_of(("a", 99), ("a", 98), ("b", 97))
    begun = []
    for _ in range(5):
        queue.add(("small", 1), 1, "small")
        begun += queue.next_batch()
    bulk = [job for job in begun if job[0] != "small"]
    assert bulk == [("a", 99), ("b", 97)]


def test_whoever_finds_no_room_in_a_batch_begins_the_next():
    queue = queue_of(("a", 4), ("b", 4), ("c", 3), ("d", 2), ("e", 1))
    assert batches_of(queue) == [[("a", 4), ("b", 4), ("c", 3)], [("d", 2), ("e", 1)]]


def test_what_a_batch_has_left_begins_the_next_one_whoever_came_meanwhile():
    queue = queue_of(("a", 1), ("a", 2), ("b", 3))
    left = queue.next_batch()[1:]
    for owner in "ca":
        queue.add((owner, 4), 4, owner)
    for owner, weight in reversed(left):
        queue.put_back((owner, weight), weight, owner)
    assert batches_of(queue) == [[("a", 2), ("b", 3), ("c", 4)], [("a", 4)]]


def test_what_waits_can_be_looked_at_and_an_empty_queue_has_an_empty_batch():
    assert sorted(queue_of(("a", 1), ("b", 99))) == [("a", 1), ("b", 99)]
    assert queue_of().next_batch() == []


@given(JOBS)
def test_every_job_runs_once_in_bounded_batches_and_small_ones_of_an_account_keep_their_order(jobs):
    batches = batches_of(queue_of(*jobs))
    assert Counter(job for batch in batches for job in batch) == Counter(jobs)
    order = defaultdict(list)
    for batch in batches:
        shares = Counter[str]()
        for owner, weight in batch:
            shares[owner] += weight
            order[owner, weight > MAX_SHARE].append(weight)
        if len(batch) > 1:
            assert shares.total() <= MAX_WEIGHT
            assert max(shares.values()) <= MAX_SHARE
    for (owner, is_bulk), weights in order.items():
        queued = [w for whose, w in jobs if whose == owner and (w > MAX_SHARE) is is_bulk]
        assert weights == queued


@given(JOBS)
def test_a_share_of_an_account_waits_only_for_the_others_who_wait(jobs):
    queue = queue_of(*jobs)
    queue.add(("new", 1), 1, "new")
    # Six accounts of a share each fill two batches, and bulk has a turn before each of the three.
    begun = [job for _ in range(6) for job in queue.next_batch()]
    assert ("new", 1) in begun
