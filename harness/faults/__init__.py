"""Faults: one file each. A fault is injected, proved from outside, and healed; nothing else may kill, freeze or cut.

`harness.faults.base` has the protocol and `carry_out`, which records every phase and stops without a proof.
"""
