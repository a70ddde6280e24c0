"""feedkeep, but looks at feeds follow each other as fast as they can."""

from feedkeep.cli import main
from feedkeep.feeds import scheduler as keeper

if __name__ == "__main__":
    keeper.LOOKS_A_SECOND = 1e6
    main()
