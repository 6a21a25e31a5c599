"""Collections of evidence: archives among a turn's files become their members, each a file of its own.

``unpacking`` runs in a worker process and reads the archives; ``expanding`` drives it, ``spool`` keeps the members for
the turn, ``layouts`` recognises the collectors KAPE, Velociraptor and UAC and puts the important members first.
"""
