"""Which policies a service has, by game and name, and what is tried out beside each of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import jimbot
from jimbot.errors import UnknownNameError, UsageError
from jimbot.proto import decisions_pb2 as wire
from jimbot.runs.resources import ResourceCoordinator, default_coordinator
from jimbot.services.decision.figures import Figures
from jimbot.services.decision.lane import Lane
from jimbot.services.decision.refusal import Code, RefusedError
from jimbot.services.decision.rollout import Canary, CanaryRule
from jimbot.services.decision.served import ServedPolicy, check
from jimbot.services.decision.settings import ServiceSettings
from jimbot.services.decision.states import StateReader, state_forms

OTHER = "other"  # label of games nobody serves


@dataclass
class Place:
    """Where the requests for one policy go."""

    lane: Lane
    reader: StateReader
    canary_lane: Lane | None = None
    canary: Canary | None = None
    shadow: Lane | None = None

    @property
    def served(self) -> ServedPolicy:
        return self.lane.served

    def lanes(self, session: str) -> Iterator[Lane]:
        """Whom to ask, in this order until one answers."""
        if self.canary is not None and self.canary_lane is not None and self.canary.takes(session):
            yield self.canary_lane
        yield self.lane


class Places:
    """Several policies at once. The first of a game answers requests that name none."""

    def __init__(
        self, settings: ServiceSettings = ServiceSettings(), coordinator: ResourceCoordinator | None = None
    ) -> None:
        self.settings = settings
        self.figures = Figures()
        self._coordinator = coordinator or default_coordinator()
        self._places: dict[str, dict[str, Place]] = {}
        self._changing = threading.Lock()
        self.loading = False
        """While policies are still being added, one that is missing is not unknown but not there yet."""
        self.figures.gauges["queue_depth"] = self._depths

    def add(self, served: ServedPolicy) -> None:
        """Warms a policy and what reads its states, checks it on golden states and opens it to requests."""
        check(served)
        reader = StateReader(served.entry, served.options)
        reader.warm()
        with self._changing:
            of_game = self._places.setdefault(served.spec.id, {})
            if served.name in of_game:
                raise UsageError(
                    f"Two policies of game '{served.spec.id}' are called '{served.name}'; give one another name."
                )
            of_game[served.name] = Place(self._lane(served), reader)

    def replace(self, served: ServedPolicy) -> ServedPolicy:
        """The policy of this game and name is exchanged between two batches, after the new one was checked; the old
        one goes on if it fails. Returns the old one."""
        game = served.spec.id
        place = self.find(game, served.name)
        try:
            check(served)
        except Exception:
            self.figures.count(self.figures.reloads, game, "refused")
            raise
        old = place.lane.swap(served)
        self.figures.count(self.figures.reloads, game, "swapped")
        return old

    def try_out(self, served: ServedPolicy, name: str, rule: CanaryRule = CanaryRule()) -> Canary:
        """`served` answers a share of the games in place of policy `name`, until it errs."""
        check(served)
        place = self.find(served.spec.id, name)
        place.canary_lane, place.canary = self._lane(served), Canary(rule)
        return place.canary

    def shadow(self, served: ServedPolicy, name: str) -> None:
        """`served` is asked whatever policy `name` is asked; its answers are counted, never sent."""
        check(served)
        self.find(served.spec.id, name).shadow = self._lane(served)

    def policies(self, game: str = "") -> wire.PoliciesResponse:
        """What is served, with the state of every trial."""
        answer = wire.PoliciesResponse(server_version=jimbot.__version__)
        for of_game, places in self._places.items():
            for place in places.values() if game in ("", of_game) else ():
                answer.policies.append(_description(place.served, "serving"))
                if place.canary is not None and place.canary_lane is not None:
                    status = "withdrawn" if place.canary.withdrawn else "canary"
                    share = 0.0 if place.canary.withdrawn else place.canary.rule.share
                    answer.policies.append(_description(place.canary_lane.served, status, share))
                if place.shadow is not None:
                    answer.policies.append(_description(place.shadow.served, "shadow"))
        return answer

    def find(self, game: str, name: str) -> Place:
        places = self._places.get(game)
        if self.loading and (not places or (name and name not in places)):
            raise RefusedError(Code.UNAVAILABLE, "The service is still loading its policies; ask again soon.", 250)
        if not places:
            raise RefusedError(Code.NOT_FOUND, str(UnknownNameError("game", game[:80], self._places)))
        if not name:
            return next(iter(places.values()))
        if name not in places:
            raise RefusedError(Code.NOT_FOUND, str(UnknownNameError(f"policy of game {game}", name[:80], places)))
        return places[name]

    def only_game(self) -> str:
        """The game of requests that name none, where there is only one."""
        return next(iter(self._places)) if len(self._places) == 1 else ""

    def label(self, game: str) -> str:
        return game if game in self._places else OTHER

    def close(self) -> None:
        """Finishes what was taken and stops."""
        for places in self._places.values():
            for place in places.values():
                for lane in (place.lane, place.canary_lane, place.shadow):
                    if lane is not None:
                        lane.close()
                place.reader.close()

    def _depths(self) -> dict[tuple[str, ...], float]:
        return {
            (game, name): float(place.lane.depth)
            for game, places in self._places.items()
            for name, place in places.items()
        }

    def _lane(self, served: ServedPolicy) -> Lane:
        return Lane(served, self.settings, self.figures, self._coordinator)


def _description(served: ServedPolicy, status: str, share: float = 0.0) -> wire.PolicyDescription:
    spec = served.spec
    return wire.PolicyDescription(
        identity=served.identity,
        status=status,
        observation_size=spec.observation.size,
        num_actions=spec.actions.size,
        observation_fingerprint=spec.observation.fingerprint,
        action_fingerprint=spec.actions.fingerprint,
        canary_share=share,
        state_forms=state_forms(served.entry),
        options_json=json.dumps(dict(served.options), sort_keys=True, default=str),
    )
