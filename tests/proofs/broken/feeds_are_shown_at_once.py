"""What is known of a feed is shown to every account that has it, whenever it came."""

from feedkeep.rules import seen_feeds

seen_feeds._counted = lambda _first_had, _now: seen_feeds._ALWAYS
