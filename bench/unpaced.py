"""feedkeep without a pace for fetches, which follow each other as fast as possible."""

from feedkeep.cli import main
from feedkeep.feeds import scheduler as keeper

if __name__ == "__main__":
    keeper.FETCHES_PER_SECOND = 1e6
    main()
