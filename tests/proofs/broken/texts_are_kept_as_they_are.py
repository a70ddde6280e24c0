"""Lines and control characters of texts are kept as they are."""

from feedkeep.feeds import plain_text

plain_text._one_line = lambda text: text
