"""What apps are held to: objections to single requests, and hard cases that each take several."""
