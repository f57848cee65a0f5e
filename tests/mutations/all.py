"""Every mutant."""

from __future__ import annotations

from tests.mutations import (
    answers,
    anytime,
    doubts,
    evidence,
    gate,
    outliers,
    peers_by_means,
    peers_by_tests,
    sameness,
    studies,
    tolerances,
)

MUTANTS = (
    *evidence.MUTANTS,
    *sameness.MUTANTS,
    *answers.MUTANTS,
    *anytime.MUTANTS,
    *doubts.MUTANTS,
    *peers_by_means.MUTANTS,
    *peers_by_tests.MUTANTS,
    *tolerances.MUTANTS,
    *gate.MUTANTS,
    *outliers.MUTANTS,
    *studies.MUTANTS,
)
