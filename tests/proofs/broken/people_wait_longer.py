"""Who adds a feed waits for it for as long as it takes, also on a busy machine."""

from feedkeep.web import page

page._LOOK_SECONDS = 60.0
