"""Who adds a feed waits for it for as long as it takes, also on a busy machine."""

from feedkeep.web import adding, page

page._LOOK_SECONDS = adding.SECONDS = 60.0
