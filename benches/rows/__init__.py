"""The rows of the comparison: each file measures one kind of work and says what it must reach."""

from . import cold, commands, disk, durable, gc, generation, http, memory, rollback, run, verify, warm

# In the order they run: the disk is described first, the longest comes last.
ALL = {
    module.__name__.rpartition(".")[2]: module
    for module in (disk, cold, durable, http, warm, generation, run, rollback, verify, commands, memory, gc)
}
