"""
Staleness
=========

How many updates happened while a client worked. The algorithm decides: the larger the buffer, the fewer updates, and the fresher the
answers.
On the command line: ``fedbench plot staleness``.
"""

import fedbench as fb
from fedbench.analysis.pictures.ledgers import staleness
from fedbench.figures.ledgers import draw_staleness
from fedbench.suites.compared import of_records

records = fb.run("digits-demo", ["fedbuff[buffer_size=5]", "fedbuff", "fedasync"], seeds=2, progress=False)
drawn = draw_staleness(staleness(of_records(records, "runs").rows["digits-demo"]), 160)
