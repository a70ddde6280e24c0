"""The guarded client: the only way to other hosts, and never to the network of this machine."""
