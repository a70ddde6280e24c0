"""The protocols that podcast apps speak, as requests and how their replies are read."""
