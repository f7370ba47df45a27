"""The health watch: notices from the metrics when learning has gone wrong, and says what to try."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

HIGH_KL = 0.06
HIGH_CLIP_FRACTION = 0.30
COLLAPSE_ROWS = 5  # log rows in a row that must look dead
DEAD_ENTROPY = 0.02  # nats
DEAD_KL = 1e-4
DEAD_CLIP_FRACTION = 1e-3
RETURN = "train/mean_episode_return"
SAME_RETURN = 1e-4
FLAT_RETURN = 0.02  # relative spread of the mean return
LOCKED_SHARE = 0.8  # of the games, that have the same thing
LOCKED_ROWS = 3  # in a row


class Finding(NamedTuple):
    metric: str  # under health/
    sentence: str


class HealthWatch:
    """Looks at each log row; remembers the last few."""

    def __init__(self) -> None:
        self._rows: deque[dict[str, float]] = deque(maxlen=COLLAPSE_ROWS)
        self._first = self._best = float("nan")  # mean returns of the run

    def look(self, metrics: dict[str, float]) -> list[Finding]:
        """What is wrong as of this row."""
        findings = []
        kl, clip = metrics.get("train/approx_kl", 0.0), metrics.get("train/clip_frac", 0.0)
        if metrics.get("train/teacher_weight", 0.0) > 0:
            kl = clip = 0.0  # a teacher may move a policy as far as it likes
        if kl > HIGH_KL:
            findings.append(Finding("high_kl", f"approx_kl is {kl:.3f} (above {HIGH_KL}): lower lr or update-epochs."))
        if clip > HIGH_CLIP_FRACTION:
            sentence = f"clip_frac is {clip:.2f} (above {HIGH_CLIP_FRACTION}): lower lr or update-epochs."
            findings.append(Finding("high_clip_frac", sentence))
        self._rows.append(metrics)
        if (mean := metrics.get(RETURN)) is not None:
            self._first = mean if self._first != self._first else self._first
            self._best = mean if self._best != self._best else max(self._best, mean)
        findings += self._locked_in(metrics)
        if self._collapsed() and not self._solved():
            entropy = metrics["train/entropy"]
            sentence = (
                f"Entropy has collapsed to {entropy:.4f} and nothing moves any more (approx_kl and clip_frac near 0, "
                f"return flat over {COLLAPSE_ROWS} rows): unless the game is solved, raise ent-coef and start over."
            )
            findings.append(Finding("entropy_collapse", sentence))
        return findings

    def _locked_in(self, metrics: dict[str, float]) -> list[Finding]:
        """Ways to play that nearly all games share, row after row."""
        names = [name for name in metrics if name.startswith("variety/") and name.endswith("_top")]
        rows = list(self._rows)[-LOCKED_ROWS:]
        for name in names:
            if len(rows) == LOCKED_ROWS and all(row.get(name, 0.0) > LOCKED_SHARE for row in rows):
                what = name.removeprefix("variety/").removesuffix("_top")
                sentence = (
                    f"Play locks in: {metrics[name]:.0%} of the games have the same of their {what} ({name}): raise "
                    "ent-coef, weigh it by ent-blocks, or pay for what is rare with count-bonus."
                )
                return [Finding("locked_in", sentence)]
        return []

    def _collapsed(self) -> bool:
        rows = self._rows
        if len(rows) < COLLAPSE_ROWS or any(RETURN not in row for row in rows):
            return False
        still = all(
            row.get("train/entropy", float("inf")) < DEAD_ENTROPY
            and row.get("train/approx_kl", 0.0) < DEAD_KL
            and row.get("train/clip_frac", 0.0) < DEAD_CLIP_FRACTION
            for row in rows
        )
        returns = [row[RETURN] for row in rows]
        return still and max(returns) - min(returns) <= FLAT_RETURN * max(1.0, abs(sum(returns) / len(returns)))

    def _solved(self) -> bool:
        """Whether all games of the last rows came to the same end, the best of the run and better than its first: where
        nothing is left to learn nothing needs to move. Who collapsed plays games that differ, or worse than before."""
        returns = [row[RETURN] for row in self._rows]
        return max(returns) - min(returns) < SAME_RETURN and min(returns) >= self._best - SAME_RETURN > self._first


HEALTH_METRICS = ("high_kl", "high_clip_frac", "entropy_collapse", "locked_in")
