"""Jokers without a phase of their own: the rule they change asks for them, and this is the list of where."""

from __future__ import annotations

from jimbot.games.balatro.rules.jokers.registry import define

define("j_four_fingers", passive="hands.read_jokers")
define("j_shortcut", passive="hands.read_jokers")
define("j_smeared", passive="hands.read_jokers")
define("j_splash", passive="hands.read_jokers")
define("j_pareidolia", passive="hands.read_jokers")
define("j_oops", passive="inventory.odds_numerator")
define("j_credit_card", passive="inventory.debt_floor")
define("j_juggler", passive="inventory")
define("j_troubadour", passive="inventory")
define("j_drunkard", passive="inventory")
define("j_merry_andy", passive="inventory")
define("j_to_the_moon", passive="inventory")
define("j_chaos", passive="inventory")
define("j_ring_master", passive="pools.exists")
define("j_astronomer", passive="prices")
