"""Every anomaly: one pure function for each evidence that it is found in, with its entry (`@anomaly`).

A function returns rows of evidence, complete enough to explain the finding without the code. Definitions are those of
the field (Jepsen's checker for Kafka) where it has one. Nothing here knows what a scenario documents.

Every module of this package is imported here, in the order of their names, so that a new one needs no mention anywhere
and the catalogue (checks/catalogue.py) has the same order in every process. The names of anomalies stand in
checks/names.py, too, for those who ask for no more than a name.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from checks.anomaly import REGISTRY
from checks.names import ANOMALIES, refuse_others

__all__ = ["REGISTRY"]


for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)

refuse_others("anomaly", ANOMALIES, REGISTRY)
