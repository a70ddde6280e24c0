"""Many requests, one commit: how jobs share batches, and how they fail alone."""

import asyncio
from collections import Counter, defaultdict
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model.errors import StoreUnavailable, UnknownSubscription
from feedkeep.store.batch import Batcher, Done, FailedBeforeCommit, FairQueue


class Transactions:
    """Answers each job with itself, notes the batches, and fails as it is told."""

    def __init__(self, failure=lambda _: None):
        self.batches = []
        self.failure = failure

    async def run(self, jobs):
        self.batches.append(list(jobs))
        await asyncio.sleep(0)
        if error := self.failure(jobs):
            raise error
        return [UnknownSubscription() if job < 0 else Done(job) for job in jobs]


async def results(transactions, jobs, max_jobs=100, of=lambda _: {}, **more):
    """Return the outcomes of concurrent jobs, submitted with the arguments that `of` returns."""
    batcher = Batcher(transactions.run, max_jobs, **more)
    submitted = (batcher.submit(job, **of(job)) for job in jobs)
    found = await asyncio.gather(*submitted, return_exceptions=True)
    await batcher.close()
    return found


UNKNOWN, AWAY, DEFECT = StoreUnavailable("lost"), StoreUnavailable("away"), ZeroDivisionError()


def unless_alone(jobs):
    return FailedBeforeCommit(AWAY) if len(jobs) > 1 else AWAY


@pytest.mark.parametrize(
    ("failures", "jobs", "max_jobs", "answers", "batches", "failed"),
    [
        # Waiting jobs share a batch of a maximum size, and keep their order.
        (None, [1, 2, 3], 100, [1, 2, 3], [[1, 2, 3]], 0),
        (None, [0, 1, 2, 3, 4], 2, [0, 1, 2, 3, 4], [[0, 1], [2, 3], [4]], 0),
        # A batch that failed before its commit is run again one by one.
        (
            lambda jobs: FailedBeforeCommit(DEFECT) if 2 in jobs else None,
            [1, 2, 3], 100, [1, DEFECT, 3], [[1, 2, 3], [1], [2], [3]], 1,
        ),
        # A batch whose commit was sent is never run again.
        (lambda _: UNKNOWN, [1, 2, 3], 100, [UNKNOWN] * 3, [[1, 2, 3]], 1),
        # A job that failed alone is repeated once, unless its commit was sent.
        ([FailedBeforeCommit(AWAY), None], [1], 100, [1], [[1], [1]], 0),
        (lambda _: FailedBeforeCommit(AWAY), [1], 100, [AWAY], [[1], [1]], 1),
        ([FailedBeforeCommit(AWAY), UNKNOWN], [1], 100, [UNKNOWN], [[1], [1]], 1),
        # A store that is away is not waited for by each job in turn.
        (unless_alone, [1, 2, 3], 100, [AWAY] * 3, [[1, 2, 3], [1]], 1),
        (
            [FailedBeforeCommit(AWAY), None, AWAY],
            [1, 2, 3], 100, [1, AWAY, AWAY], [[1, 2, 3], [1], [2]], 1,
        ),
    ],
)  # fmt: skip
async def test_jobs_are_answered_by_batches(failures, jobs, max_jobs, answers, batches, failed):
    if isinstance(failures, list):
        left = iter(failures)
        transactions = Transactions(lambda _: next(left))
    else:
        transactions = Transactions(failures or (lambda _: None))
    noted = count()
    found = await results(transactions, jobs, max_jobs, note_failure=lambda: next(noted))
    assert found == answers
    assert transactions.batches == batches
    assert next(noted) == failed


async def test_error_of_one_job_is_that_jobs_alone():
    found = await results(Transactions(), [1, -1, 2])
    assert isinstance(found[1], UnknownSubscription)
    assert found[::2] == [1, 2]


async def test_jobs_that_a_batch_leaves_come_first_in_the_next_one():
    class OneAtATime(Transactions):
        async def run(self, jobs):
            return (await super().run(jobs))[:1]

    transactions = OneAtATime()
    assert await results(transactions, [1, 2, 3]) == [1, 2, 3]
    assert transactions.batches == [[1, 2, 3], [2, 3], [3]]


async def test_job_is_in_a_batch_that_waits_for_its_turn_and_not_in_one_that_runs():
    transactions = Transactions()
    may_begin = asyncio.Event()
    batcher = Batcher(transactions.run, 100, begin=may_begin.wait)
    submitted = []
    for job in (1, 2):
        submitted.append(asyncio.create_task(batcher.submit(job)))
        await asyncio.sleep(0)
    may_begin.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert transactions.batches == [[1, 2]]
    assert await asyncio.gather(*submitted, batcher.submit(3), batcher.submit(4)) == [1, 2, 3, 4]
    assert transactions.batches == [[1, 2], [3, 4]]


async def test_turn_that_does_not_come_fails_its_batch_and_not_the_next_one():
    transactions = Transactions()
    turns = [StoreUnavailable("another process writes")]

    async def turn():
        if turns:
            raise turns.pop()

    noted = count()
    failed, also_failed, *done = await results(
        transactions, range(4), 2, begin=turn, note_failure=lambda: next(noted)
    )
    assert next(noted) == 1
    assert isinstance(failed, StoreUnavailable)
    assert also_failed is failed
    assert done == [2, 3]
    assert transactions.batches == [[2, 3]]


async def test_jobs_that_run_alone_have_a_turn_each():
    transactions = Transactions(lambda jobs: FailedBeforeCommit(DEFECT) if 2 in jobs else None)
    turns = []

    async def turn():
        turns.append(len(transactions.batches))

    assert await results(transactions, (1, 2, 3), begin=turn) == [1, DEFECT, 3]
    assert turns == [0, 1, 2, 3]


async def test_heavy_jobs_and_those_of_one_account_leave_room_in_a_batch():
    transactions = Transactions()
    await results(transactions, (4, 6, 1, 99, 2), 10, of=lambda job: {"weight": job})
    assert transactions.batches == [[4, 6], [99], [1, 2]]
    transactions = Transactions()
    jobs = (10, 11, 12, 20)
    await results(transactions, jobs, of=lambda job: {"owner": job // 10}, max_share=2)
    assert transactions.batches == [[10, 11, 20], [12]]


async def test_batches_of_different_keys_run_side_by_side_and_of_one_key_in_turn():
    class Slow(Transactions):
        under_way, most = 0, 0

        async def run(self, jobs):
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            await asyncio.sleep(0.01)
            self.under_way -= 1
            return await super().run(jobs)

    transactions = Slow()
    await results(transactions, (1, 2, 11, 12), 1, of=lambda job: {"key": job % 10})
    assert transactions.batches == [[1], [2], [11], [12]]
    assert transactions.most == 2


def test_defect_of_a_batch_leaves_nobody_waiting_and_the_next_job_runs():
    async def transaction(jobs):
        return [] if 1 in jobs else [Done(job) for job in jobs]

    async def submit(max_jobs):
        batcher = Batcher(transaction, max_jobs)
        waiting = (batcher.submit(job) for job in (1, 2))
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(answer) for answer in found] == [RuntimeError, RuntimeError]
        assert await batcher.submit(3) == 3
        await batcher.close()

    for max_jobs in (1, 100):  # in a loop of its own, since anyio's would report the defect
        asyncio.run(submit(max_jobs))


async def test_error_that_no_future_can_carry_is_reported_as_a_defect():
    async def transaction(_):
        return [StopIteration()]

    with pytest.raises(RuntimeError):
        await Batcher(transaction, 1).submit(1)


async def test_closing_answers_or_fails_what_was_accepted_and_takes_no_more():
    transactions = Transactions()
    batcher = Batcher(transactions.run, 1)
    accepted = [asyncio.create_task(batcher.submit(job)) for job in (1, 2, 3)]
    await asyncio.sleep(0)
    await batcher.close()
    assert [await task for task in accepted] == [1, 2, 3]
    with pytest.raises(StoreUnavailable, match="stopping"):
        await batcher.submit(4)

    async def transaction(_):
        await asyncio.sleep(0)
        return []

    batcher = Batcher(transaction, 1)
    unanswered = asyncio.create_task(batcher.submit(1))
    await asyncio.sleep(0)
    await batcher.close()
    with pytest.raises(StoreUnavailable, match="stopped"):
        await unanswered


async def test_caller_that_went_away_does_not_disturb_the_others():
    transactions = Transactions()
    batcher = Batcher(transactions.run, 100)
    tasks = [asyncio.create_task(batcher.submit(job)) for job in (1, 2)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    assert await tasks[1] == 2
    assert transactions.batches == [[1, 2]]


# Order of jobs, judged by counting batches: a clock would show how busy the machine is


MAX_WEIGHT, MAX_SHARE = 12, 4
JOBS = st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 3 * MAX_SHARE)), max_size=40)


def queue_of(*jobs):
    queue = FairQueue(MAX_WEIGHT, MAX_SHARE)
    for owner, weight in jobs:
        queue.add((owner, weight), weight, owner)
    return queue


def batches_of(queue):
    batches = []
    while queue:
        batches.append(queue.next_batch())
    return batches


def test_write_waits_for_only_one_batch_of_anothers_bulk():
    queue = queue_of(*[("bulk", 5_000)] * 8)
    for _ in range(4):  # each comes while a batch of bulk runs, or one of small writes
        assert queue.next_batch() == [("bulk", 5_000)]
        queue.add(("other", 1), 1, "other")
        assert queue.next_batch() == [("other", 1)]
        queue.add(("other", 1), 1, "other")
        assert [queue.next_batch() for _ in range(2)] == [[("bulk", 5_000)], [("other", 1)]]
    assert not queue
    # And small ones leave it room in the next batch, however many there are.
    queue = queue_of(*[("many", 1)] * 1_000, ("other", 1))
    assert Counter(owner for owner, _ in queue.next_batch()) == {"many": MAX_SHARE, "other": 1}


def test_bulk_is_not_postponed_by_small_writes_and_its_owners_take_turns():
    queue = queue_of(("a", 99), ("a", 98), ("b", 97))
    begun = []
    for _ in range(5):
        queue.add(("small", 1), 1, "small")
        begun += queue.next_batch()
    bulk = [job for job in begun if job[0] != "small"]
    assert bulk == [("a", 99), ("b", 97)]


def test_job_without_room_in_a_batch_or_left_by_it_begins_the_next_one():
    queue = queue_of(("a", 4), ("b", 4), ("c", 3), ("d", 2), ("e", 1))
    assert batches_of(queue) == [[("a", 4), ("b", 4), ("c", 3)], [("d", 2), ("e", 1)]]
    queue = queue_of(("a", 1), ("a", 2), ("b", 3))
    left = queue.next_batch()[1:]
    for owner in "ca":
        queue.add((owner, 4), 4, owner)
    for owner, weight in reversed(left):
        queue.put_back((owner, weight), weight, owner)
    assert batches_of(queue) == [[("a", 2), ("b", 3), ("c", 4)], [("a", 4)]]


def test_waiting_jobs_can_be_iterated_and_an_empty_queue_has_an_empty_batch():
    assert sorted(queue_of(("a", 1), ("b", 99))) == [("a", 1), ("b", 99)]
    assert queue_of().next_batch() == []


@given(JOBS)
def test_every_job_runs_once_in_bounded_batches_and_small_ones_keep_their_order(jobs):
    batches = batches_of(queue_of(*jobs))
    assert Counter(job for batch in batches for job in batch) == Counter(jobs)
    order = defaultdict(list)
    for batch in batches:
        shares = Counter()
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
def test_share_of_an_account_waits_only_for_the_others_who_wait(jobs):
    queue = queue_of(*jobs)
    queue.add(("new", 1), 1, "new")
    # Six accounts of a share each fill two batches, and bulk has a turn before each of the three.
    begun = [job for _ in range(6) for job in queue.next_batch()]
    assert ("new", 1) in begun
