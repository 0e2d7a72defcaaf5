"""The example with which the help of every verb ends. Tests run all of them."""

from __future__ import annotations

from typing import NamedTuple


class Example(NamedTuple):
    """A command line that can be copied.

    line: as it is typed.
    after: the verb whose example has to be run in the same folder before; empty if the line works
    in an empty folder.
    needs: files of the user that the line reads; empty if it reads none.
    """

    line: str
    after: str = ""
    needs: str = ""

    @property
    def help(self) -> str:
        """Returns the end of the help. Its first line keeps click from filling the others anew."""
        after = f", after that of `fedbench {self.after}`" if self.after else ""
        needs = f", with {self.needs}" if self.needs else ""
        return f"\b\nExample{after}{needs}:\n  {self.line}"


FIRST = "run"
"""The verb whose example is that of the whole program."""

EXAMPLES = {
    "list": Example("fedbench list algorithms"),
    "info": Example("fedbench info fedbuff"),
    "plan": Example("fedbench plan digits-demo -a fedavg -a 'fedbuff[buffer_size=5]'"),
    "advise": Example("fedbench advise digits-demo"),
    "run": Example("fedbench run digits-demo -a fedavg -a fedbuff --seeds 3"),
    "race": Example("fedbench race digits-demo -a fedavg -a fedbuff --set at_work=10 --minutes 1"),
    "tune": Example("fedbench tune smoke -j 2"),
    "suite": Example("fedbench suite plan smoke"),
    "suite list": Example("fedbench suite list"),
    "suite plan": Example("fedbench suite plan smoke"),
    "suite run": Example("fedbench suite run smoke --tuned results/tuned/smoke.yaml -j 2", after="tune"),
    "suite status": Example("fedbench suite status smoke"),
    "suite design": Example("fedbench suite design map"),
    "suite map": Example("fedbench suite map corners.yaml", needs="a suite with a design, whose records are packed"),
    "suite pack": Example("fedbench suite pack smoke --tuned results/tuned/smoke.yaml", after="suite run"),
    "suite unpack": Example("fedbench suite unpack smoke --store restored", after="suite pack"),
    "suite verify": Example("fedbench suite verify smoke --sample 3", after="suite pack"),
    "suite freeze": Example("fedbench suite freeze smoke -o references/smoke.json", after="suite pack"),
    "suite illustrate": Example("fedbench suite illustrate smoke", after="suite pack"),
    "suite report": Example("fedbench suite report smoke -o findings.md", after="suite pack"),
    "new": Example("fedbench new algorithm damped"),
    "new algorithm": Example("fedbench new algorithm damped"),
    "new task": Example("fedbench new task petals"),
    "new model": Example("fedbench new model small_net"),
    "new metric": Example("fedbench new metric recall"),
    "new optimizer": Example("fedbench new optimizer heavy_ball"),
    "import": Example("fedbench import traces logs -o traces", needs="a folder `logs` of logs of mobile links"),
    "import traces": Example("fedbench import traces logs -o traces", needs="a folder `logs` of logs of mobile links"),
    "import devices": Example("fedbench import devices client_device_capacity --clients 100", needs="this file of FedScale"),
    "import availability": Example(
        "fedbench import availability client_behave_trace --clients 50 --seconds 4000", needs="this file of FedScale"
    ),
    "compare": Example("fedbench compare fedbuff fedavg", after="run"),
    "table": Example("fedbench table --format latex -o table.tex", after="run"),
    "plot": Example("fedbench plot curves -o curves.pdf", after="run"),
    "trace": Example("fedbench trace runs/digits-demo/fedbuff/c318664b37120bec -o trace.json", after="run"),
    "catalogue": Example("fedbench catalogue -o catalogue.html"),
    "applicability": Example("fedbench applicability digits-flaky"),
    "doctor": Example("fedbench doctor"),
    "verify": Example("fedbench verify runs", after="run"),
    "test": Example("fedbench test ./damped.py:Damped", after="new algorithm"),
    "conformance": Example("fedbench conformance"),
    "theory": Example("fedbench theory fedbuff-bound"),
    "reproduce": Example("fedbench reproduce --plan"),
    "bench": Example("fedbench bench --group distill"),
    "leaderboard": Example("fedbench leaderboard build", after="run"),
    "leaderboard build": Example("fedbench leaderboard build", after="run"),
    "leaderboard suites": Example("fedbench leaderboard suites smoke --references references -o site", after="suite freeze"),
    "leaderboard check": Example("fedbench leaderboard check results/submissions/mine --record", after="submit"),
    "leaderboard retract": Example(
        "fedbench leaderboard retract mine --reason 'tuned on the test set'", after="leaderboard check"
    ),
    "leaderboard history": Example("fedbench leaderboard history", after="leaderboard check"),
    "submit": Example("fedbench submit smoke --name mine --title Mine --author Me --contact a@b.org", after="suite run"),
    "rules": Example("fedbench rules"),
    "cite": Example("fedbench cite fedbuff digits-demo"),
}
