"""Many requests, one commit: how jobs share batches, and how they fail alone."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from feedkeep.model.errors import StoreUnavailable, UnknownSubscription
from feedkeep.store.batch import Batcher, Done, FailedBeforeCommit, Outcome


class Transactions:
    """Answers each job with itself, notes the batches, and fails as it is told."""

    def __init__(
        self, failure: Callable[[Sequence[int]], Exception | None] = lambda _: None
    ) -> None:
        self.batches: list[list[int]] = []
        self.failure = failure

    async def run(self, jobs: Sequence[int]) -> Sequence[Outcome[int]]:
        self.batches.append(list(jobs))
        await asyncio.sleep(0)
        if error := self.failure(jobs):
            raise error
        return [UnknownSubscription() if job < 0 else Done(job) for job in jobs]


def run(
    transactions: Transactions, jobs: Sequence[int], max_jobs: int = 100
) -> list[int | BaseException]:
    async def go() -> list[int | BaseException]:
        batcher: Batcher[int, int] = Batcher(transactions.run, max_jobs)
        results = await asyncio.gather(
            *(batcher.submit(job) for job in jobs), return_exceptions=True
        )
        await batcher.close()
        return results

    return asyncio.run(go())


def test_what_is_queued_shares_a_batch_and_each_gets_its_own_answer():
    transactions = Transactions()
    assert run(transactions, [1, 2, 3]) == [1, 2, 3]
    assert transactions.batches == [[1, 2, 3]]


def test_a_batch_has_a_greatest_size_and_jobs_keep_their_order():
    transactions = Transactions()
    assert run(transactions, range(5), max_jobs=2) == [0, 1, 2, 3, 4]
    assert transactions.batches == [[0, 1], [2, 3], [4]]


def test_jobs_that_a_batch_leaves_come_first_in_the_next_one():
    class OneAtATime(Transactions):
        async def run(self, jobs):
            return (await super().run(jobs))[:1]

    transactions = OneAtATime()
    assert run(transactions, [1, 2, 3]) == [1, 2, 3]
    assert transactions.batches == [[1, 2, 3], [2, 3], [3]]


def test_what_comes_while_a_batch_waits_for_its_turn_is_in_it():
    transactions = Transactions()

    async def go():
        may_begin = asyncio.Event()

        async def turn():
            await may_begin.wait()

        batcher: Batcher[int, int] = Batcher(transactions.run, 100, begin=turn)
        first = asyncio.create_task(batcher.submit(1))
        await asyncio.sleep(0)
        second = asyncio.create_task(batcher.submit(2))
        await asyncio.sleep(0)
        may_begin.set()
        assert [await first, await second] == [1, 2]

    asyncio.run(go())
    assert transactions.batches == [[1, 2]]


def test_a_turn_that_does_not_come_fails_its_batch_and_not_the_next_one():
    transactions = Transactions()
    turns = [StoreUnavailable("another process writes")]

    async def go():
        async def turn():
            if turns:
                raise turns.pop()

        batcher: Batcher[int, int] = Batcher(transactions.run, 2, begin=turn)
        waiting = (batcher.submit(number) for number in range(4))
        return await asyncio.gather(*waiting, return_exceptions=True)

    failed, also_failed, *done = asyncio.run(go())
    assert isinstance(failed, StoreUnavailable)
    assert also_failed is failed
    assert done == [2, 3]
    assert transactions.batches == [[2, 3]]


def test_jobs_that_run_alone_have_a_turn_each():
    transactions = Transactions(
        lambda jobs: FailedBeforeCommit(OSError("at fault")) if 2 in jobs else None
    )
    turns: list[int] = []

    async def go():
        async def turn():
            turns.append(len(transactions.batches))

        batcher: Batcher[int, int] = Batcher(transactions.run, 100, begin=turn)
        waiting = (batcher.submit(number) for number in (1, 2, 3))
        return await asyncio.gather(*waiting, return_exceptions=True)

    first, at_fault, third = asyncio.run(go())
    assert (first, third) == (1, 3)
    assert isinstance(at_fault, OSError)
    assert turns == [0, 1, 2, 3]


def test_a_batch_that_does_nothing_is_a_defect_and_not_tried_for_ever():
    class Nothing(Transactions):
        async def run(self, jobs):
            return list(jobs)[:0]

    assert [type(error) for error in run(Nothing(), [1, 2])] == [RuntimeError, RuntimeError]


def test_a_job_that_comes_while_a_batch_runs_goes_into_the_next():
    transactions = Transactions()

    async def go():
        batcher: Batcher[int, int] = Batcher(transactions.run, 100)
        first = asyncio.create_task(batcher.submit(1))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert transactions.batches == [[1]]
        assert await asyncio.gather(first, batcher.submit(2), batcher.submit(3)) == [1, 2, 3]

    asyncio.run(go())
    assert transactions.batches == [[1], [2, 3]]


def test_an_error_of_one_job_is_that_jobs_alone():
    results = run(Transactions(), [1, -1, 2])
    assert isinstance(results[1], UnknownSubscription)
    assert results[::2] == [1, 2]


def test_a_batch_that_failed_before_its_commit_is_run_again_one_by_one():
    defect = ZeroDivisionError()
    transactions = Transactions(lambda jobs: FailedBeforeCommit(defect) if 2 in jobs else None)
    assert run(transactions, [1, 2, 3]) == [1, defect, 3]
    assert transactions.batches == [[1, 2, 3], [1], [2], [3]]


def test_a_batch_whose_commit_was_sent_is_never_run_again():
    unknown = StoreUnavailable("the commit failed")
    transactions = Transactions(lambda _: unknown)
    assert run(transactions, [1, 2, 3]) == [unknown] * 3
    assert transactions.batches == [[1, 2, 3]]


def test_a_job_that_failed_alone_before_its_commit_is_repeated_once():
    failures = [FailedBeforeCommit(StoreUnavailable("a deadlock")), None]
    transactions = Transactions(lambda _: failures.pop(0))
    assert run(transactions, [1]) == [1]
    assert transactions.batches == [[1], [1]]
    still = StoreUnavailable("still")
    transactions = Transactions(lambda _: FailedBeforeCommit(still))
    assert run(transactions, [1]) == [still]
    assert transactions.batches == [[1], [1]]


def test_a_repeated_job_whose_commit_was_sent_is_not_repeated_again():
    unknown = StoreUnavailable("the commit failed")
    failures = [FailedBeforeCommit(StoreUnavailable("a deadlock")), unknown]
    transactions = Transactions(lambda _: failures.pop(0))
    assert run(transactions, [1]) == [unknown]


def test_a_store_that_is_away_is_not_waited_for_by_each_job_in_turn():
    away = StoreUnavailable("away")
    transactions = Transactions(lambda jobs: FailedBeforeCommit(away) if len(jobs) > 1 else away)
    assert run(transactions, [1, 2, 3]) == [away] * 3
    assert transactions.batches == [[1, 2, 3], [1]]


def test_a_heavy_job_leaves_less_room_in_its_batch_and_no_job_is_too_heavy_to_run():
    transactions = Transactions()

    async def go():
        batcher: Batcher[int, int] = Batcher(transactions.run, 10)
        await asyncio.gather(*(batcher.submit(job, weight=job) for job in (4, 6, 1, 99, 2)))

    asyncio.run(go())
    assert transactions.batches == [[4, 6], [99], [1, 2]]


def test_an_account_takes_its_share_of_a_batch_and_leaves_the_rest_to_others():
    transactions = Transactions()

    async def go():
        batcher: Batcher[int, int] = Batcher(transactions.run, 100, max_share=2)
        await asyncio.gather(*(batcher.submit(job, owner=job // 10) for job in (10, 11, 12, 20)))

    asyncio.run(go())
    assert transactions.batches == [[10, 11, 20], [12]]


def test_batches_of_different_keys_run_side_by_side_and_of_one_key_in_turn():
    under_way = 0
    batches: list[tuple[int, list[int]]] = []

    async def transaction(jobs):
        nonlocal under_way
        under_way += 1
        batches.append((under_way, list(jobs)))
        await asyncio.sleep(0.01)
        under_way -= 1
        return [Done(job) for job in jobs]

    async def go():
        batcher: Batcher[int, int] = Batcher(transaction, 1)
        await asyncio.gather(*(batcher.submit(job, key=job % 10) for job in (1, 2, 11, 12)))
        await batcher.close()

    asyncio.run(go())
    assert [jobs for _, jobs in batches] == [[1], [2], [11], [12]]
    assert max(count for count, _ in batches) == 2


async def test_a_defect_leaves_nobody_waiting_and_the_next_job_runs():
    async def transaction(jobs):
        return [] if 1 in jobs else [Done(job) for job in jobs]

    batcher: Batcher[int, int] = Batcher(transaction, 1)
    found = await asyncio.gather(*(batcher.submit(job) for job in (1, 2)), return_exceptions=True)
    assert [type(answer) for answer in found] == [RuntimeError, RuntimeError]
    assert await batcher.submit(3) == 3
    await batcher.close()


async def test_an_error_that_no_future_can_carry_is_reported_as_a_defect():
    async def transaction(_):
        return [StopIteration()]

    with pytest.raises(RuntimeError):
        await Batcher(transaction, 1).submit(1)


async def test_closing_answers_what_was_accepted_and_takes_no_more():
    transactions = Transactions()
    batcher: Batcher[int, int] = Batcher(transactions.run, 1)
    accepted = [asyncio.create_task(batcher.submit(job)) for job in (1, 2, 3)]
    await asyncio.sleep(0)
    await batcher.close()
    assert [await task for task in accepted] == [1, 2, 3]
    with pytest.raises(StoreUnavailable, match="stopping"):
        await batcher.submit(4)


async def test_whoever_is_not_answered_while_a_batcher_closes_is_told_that_the_service_stopped():
    async def transaction(_):
        await asyncio.sleep(0)
        return []

    batcher: Batcher[int, int] = Batcher(transaction, 1)
    accepted = asyncio.create_task(batcher.submit(1))
    await asyncio.sleep(0)
    await batcher.close()
    with pytest.raises(StoreUnavailable, match="stopped"):
        await accepted


def test_a_caller_that_went_away_does_not_disturb_the_others():
    transactions = Transactions()

    async def go():
        batcher: Batcher[int, int] = Batcher(transactions.run, 100)
        tasks: list[asyncio.Task[int]] = [
            asyncio.create_task(batcher.submit(job)) for job in (1, 2)
        ]
        await asyncio.sleep(0)
        tasks[0].cancel()
        assert await tasks[1] == 2

    asyncio.run(go())
    assert transactions.batches == [[1, 2]]
