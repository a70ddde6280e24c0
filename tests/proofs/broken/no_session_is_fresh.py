"""Pages ask for the password each time, as they do ten minutes after it was typed."""

from feedkeep.service import page_sessions

page_sessions.FRESH_MINUTES = 0
