"""Budgets for designs: predicted where that suffices, measured where it does not; for CI."""

from tileviz.checking.budgets import Budget, read_budgets
from tileviz.checking.verdicts import Check, Verdict, check

__all__ = ["Budget", "Check", "Verdict", "check", "read_budgets"]
