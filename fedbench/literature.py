"""The papers that fedbench cites, by key. A paper without a certain link has none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """One paper. `authors` are family names in order, and `link` is empty if none is known.

    `method` is the name of what the paper proposes. It is given only where authors and year alone
    would be ambiguous.
    """

    authors: tuple[str, ...]
    year: int
    title: str
    venue: str
    link: str = ""
    method: str = ""

    @property
    def short(self) -> str:
        """Returns authors and year as texts cite them: `Nguyen et al. 2022`, `Wang et al. 2024
        (FADAS)`."""
        first, *others = self.authors
        names = first if not others else f"{first} and {others[0]}" if len(others) == 1 else f"{first} et al."
        return f"{names} {self.year}" + (f" ({self.method})" if self.method else "")


def _arxiv(number: str) -> str:
    return f"https://arxiv.org/abs/{number}"


PAPERS = {
    "acar2021": Paper(
        ("Acar", "Zhao", "Matas Navarro", "Mattina", "Whatmough", "Saligrama"),
        2021,
        "Federated Learning Based on Dynamic Regularization",
        "ICLR",
        _arxiv("2111.04263"),
    ),
    "alahyane2025": Paper(
        ("Alahyane", "Comte", "Jonckheere", "Moulines"),
        2025,
        "Optimizing Asynchronous Federated Learning: A Delicate Trade-Off Between Model-Parameter Staleness and Update Frequency",
        "arXiv",
        _arxiv("2502.08206"),
    ),
    "begunov2026": Paper(
        ("Begunov", "Tyurin"),
        2026,
        "Do We Need Asynchronous SGD? On the Near-Optimality of Synchronous Methods",
        "arXiv",
        _arxiv("2602.03802"),
    ),
    "chang2025": Paper(
        ("Chang", "Yao", "Krishnamurthy", "Shelton", "Chakraborty", "Swami", "Oymak", "Roy-Chowdhury"),
        2025,
        "Mitigating Participation Imbalance Bias in Asynchronous Federated Learning",
        "arXiv",
        _arxiv("2511.19066"),
    ),
    "gu2021": Paper(
        ("Gu", "Huang", "Zhang", "Huang"),
        2021,
        "Fast Federated Learning in the Presence of Arbitrary Device Unavailability",
        "NeurIPS",
        _arxiv("2106.04159"),
    ),
    "iakovidou2024": Paper(
        ("Iakovidou", "Kim"),
        2024,
        "Asynchronous Federated Stochastic Optimization for Heterogeneous Objectives Under Arbitrary Delays",
        "arXiv",
        _arxiv("2405.10123"),
    ),
    "jhunjhunwala2022": Paper(
        ("Jhunjhunwala", "Sharma", "Nagarkatti", "Joshi"),
        2022,
        "FedVARP: Tackling the Variance Due to Partial Client Participation in Federated Learning",
        "UAI",
        _arxiv("2207.14130"),
    ),
    "karimireddy2020": Paper(
        ("Karimireddy", "Kale", "Mohri", "Reddi", "Stich", "Suresh"),
        2020,
        "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning",
        "ICML",
        _arxiv("1910.06378"),
    ),
    "leconte2023": Paper(
        ("Leconte", "Nguyen", "Moulines"),
        2023,
        "FAVANO: Federated AVeraging with Asynchronous NOdes",
        "arXiv",
        _arxiv("2305.16099"),
    ),
    "leconte2024": Paper(
        ("Leconte", "Jonckheere", "Samsonov", "Moulines"),
        2024,
        "Queuing Dynamics of Asynchronous Federated Learning",
        "AISTATS",
        _arxiv("2405.00017"),
    ),
    "li2020": Paper(
        ("Li", "Sahu", "Zaheer", "Sanjabi", "Talwalkar", "Smith"),
        2020,
        "Federated Optimization in Heterogeneous Networks",
        "MLSys",
        _arxiv("1812.06127"),
    ),
    "lian2015": Paper(
        ("Lian", "Huang", "Li", "Liu"),
        2015,
        "Asynchronous Parallel Stochastic Gradient for Nonconvex Optimization",
        "NeurIPS",
        _arxiv("1506.08272"),
    ),
    "maranjyan2025ringleader": Paper(
        ("Maranjyan", "Richtárik"),
        2025,
        "Ringleader ASGD: The First Asynchronous SGD with Optimal Time Complexity under Data Heterogeneity",
        "arXiv",
        _arxiv("2509.22860"),
        "Ringleader",
    ),
    "maranjyan2025ringmaster": Paper(
        ("Maranjyan", "Tyurin", "Richtárik"),
        2025,
        "Ringmaster ASGD: The First Asynchronous SGD with Optimal Time Complexity",
        "ICML",
        _arxiv("2501.16168"),
        "Ringmaster",
    ),
    "mcmahan2017": Paper(
        ("McMahan", "Moore", "Ramage", "Hampson", "Agüera y Arcas"),
        2017,
        "Communication-Efficient Learning of Deep Networks from Decentralized Data",
        "AISTATS",
        _arxiv("1602.05629"),
    ),
    "mitra2021": Paper(
        ("Mitra", "Jaafar", "Pappas", "Hassani"),
        2021,
        "Linear Convergence in Federated Learning: Tackling Client Heterogeneity and Sparse Gradients",
        "NeurIPS",
        _arxiv("2102.07053"),
    ),
    "nguyen2022": Paper(
        ("Nguyen", "Malik", "Zhan", "Yousefpour", "Rabbat", "Malek", "Huba"),
        2022,
        "Federated Learning with Buffered Asynchronous Aggregation",
        "AISTATS",
        _arxiv("2106.06639"),
    ),
    "reddi2021": Paper(
        ("Reddi", "Charles", "Zaheer", "Garrett", "Rush", "Konečný", "Kumar", "McMahan"),
        2021,
        "Adaptive Federated Optimization",
        "ICLR",
        _arxiv("2003.00295"),
    ),
    "riiser2013": Paper(
        ("Riiser", "Vigmostad", "Griwodz", "Halvorsen"),
        2013,
        "Commute Path Bandwidth Traces from 3G Networks: Analysis and Applications",
        "MMSys",
        "https://datasets.simula.no/hsdpa-tcp-logs/",
    ),
    "rodio2024": Paper(
        ("Rodio", "Neglia"),
        2024,
        "FedStale: Leveraging Stale Client Updates in Federated Learning",
        "arXiv",
        _arxiv("2405.04171"),
    ),
    "toghani2022": Paper(
        ("Toghani", "Uribe"),
        2022,
        "Unbounded Gradients in Federated Learning with Buffered Asynchronous Aggregation",
        "Allerton Conference",
        _arxiv("2210.01161"),
    ),
    "tyurin2023": Paper(
        ("Tyurin", "Richtárik"),
        2023,
        "Optimal Time Complexities of Parallel Stochastic Optimization Methods Under a Fixed Computation Model",
        "NeurIPS",
        _arxiv("2305.12387"),
    ),
    "vanderhooft2016": Paper(
        ("van der Hooft", "Petrangeli", "Wauters", "Huysegems", "Rondao Alface", "Bostoen", "De Turck"),
        2016,
        "HTTP/2-Based Adaptive Streaming of HEVC Video Over 4G/LTE Networks",
        "IEEE Communications Letters",
        "https://users.ugent.be/~jvdrhoof/dataset-4g/",
    ),
    "wang2020": Paper(
        ("Wang", "Liu", "Liang", "Joshi", "Poor"),
        2020,
        "Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization",
        "NeurIPS",
        _arxiv("2007.07481"),
    ),
    "wang2024ca2fl": Paper(
        ("Wang", "Cao", "Wu", "Chen", "Chen"),
        2024,
        "Tackling the Data Heterogeneity in Asynchronous Federated Learning with Cached Update Calibration",
        "ICLR",
        "https://openreview.net/forum?id=4aywmeb97I",
        "CA2FL",
    ),
    "wang2024defedavg": Paper(
        ("Wang", "Li", "Jin", "Zhang"),
        2024,
        "Achieving Linear Speedup in Asynchronous Federated Learning with Heterogeneous Clients",
        "IEEE Transactions on Mobile Computing 24, 2025",
        _arxiv("2402.11198"),
        "DeFedAvg",
    ),
    "wang2024fadas": Paper(
        ("Wang", "Wang", "Zhang", "Chen"),
        2024,
        "FADAS: Towards Federated Adaptive Asynchronous Optimization",
        "ICML",
        _arxiv("2407.18365"),
        "FADAS",
    ),
    "wang2025": Paper(
        ("Wang", "Ma", "Chen"),
        2025,
        "Stragglers Can Contribute More: Uncertainty-Aware Distillation for Asynchronous Federated Learning",
        "arXiv",
        _arxiv("2511.19966"),
    ),
    "wu2021": Paper(
        ("Wu", "Guo", "Wang", "Zhang", "Qu", "Zhang", "Liu"),
        2021,
        "From Deterioration to Acceleration: A Calibration Approach to Rehabilitating Step Asynchronism in Federated Optimization",
        "IEEE Transactions on Parallel and Distributed Systems",
        _arxiv("2112.09355"),
    ),
    "xiang2024": Paper(
        ("Xiang", "Ioannidis", "Yeh", "Joe-Wong", "Su"),
        2024,
        "Efficient Federated Learning against Heterogeneous and Non-stationary Client Unavailability",
        "NeurIPS",
        _arxiv("2409.17446"),
    ),
    "xie2019": Paper(("Xie", "Koyejo", "Gupta"), 2019, "Asynchronous Federated Optimization", "arXiv", _arxiv("1903.03934")),
    "zakerinia2024": Paper(
        ("Zakerinia", "Talaei", "Nadiradze", "Alistarh"),
        2024,
        "Communication-Efficient Federated Learning With Data and Client Heterogeneity",
        "AISTATS",
        _arxiv("2206.10032"),
    ),
    "zang2024": Paper(
        ("Zang", "Xue", "Ou", "Chu", "Du", "Long"),
        2024,
        "Efficient Asynchronous Federated Learning with Prospective Momentum Aggregation and Fine-Grained Correction",
        "AAAI",
        "https://doi.org/10.1609/aaai.v38i15.29603",
    ),
}
