"""Pairs of jokers that players write about, for judging what the simulator measures; nothing in the product reads it.

`STRONG` are the ones every guide has, `GOOD` the usual ones, `AGAINST` pairs that guides warn of. Keys without "j_".
"""

from __future__ import annotations

import random


def _read(text: str) -> list[tuple[str, str]]:
    pairs = []
    for line in text.split("\n"):
        first, _, others = line.partition(":")
        for other in others.split():
            a, b = sorted((f"j_{first.strip()}", f"j_{other}"))
            pairs.append((a, b))
    return sorted(set(pairs))


STRONG = _read("""
mime: baron shoot_the_moon raised_fist reserved_parking
hanging_chad: photograph
sock_and_buskin: photograph scary_face smiley triboulet
blueprint: baron triboulet cavendish photograph idol
brainstorm: triboulet idol
pareidolia: scary_face smiley photograph business sock_and_buskin midas_mask
hack: fibonacci wee walkie_talkie
hologram: dna certificate
oops: lucky_cat bloodstone business
midas_mask: vampire ticket
smeared: bloodstone arrowhead onyx_agate
four_fingers: runner droll
swashbuckler: egg gift
baseball: fibonacci steel_joker
""")

GOOD = _read("""
mime: steel_joker
hanging_chad: bloodstone triboulet scholar walkie_talkie idol hiker
sock_and_buskin: business
dusk: fibonacci triboulet bloodstone
selzer: triboulet fibonacci bloodstone hiker
hack: even_steven odd_todd hiker
blueprint: bloodstone dna mime hanging_chad golden hologram constellation duo trio family order tribe joker certificate
brainstorm: cavendish photograph baron hiker dna mime
pareidolia: reserved_parking faceless
oops: space 8_ball reserved_parking
smeared: rough_gem lusty_joker greedy_joker wrathful_joker gluttenous_joker
splash: hiker scary_face smiley arrowhead bloodstone onyx_agate fibonacci odd_todd even_steven
four_fingers: crazy devious order tribe smeared shortcut
shortcut: runner order crazy devious superposition
burglar: mystic_summit
marble: stone
vagabond: fortune_teller
cartomancer: fortune_teller perkeo constellation
astronomer: constellation satellite
bull: to_the_moon golden business rough_gem delayed_grat rocket mail
bootstraps: to_the_moon golden business rough_gem delayed_grat rocket mail
chaos: flash
red_card: hallucination
certificate: drivers_license
trading: caino
drunkard: yorick castle hit_the_road
merry_andy: yorick castle
baseball: hack sock_and_buskin mime flash constellation
gift: campfire
cloud_9: bull
riff_raff: ceremonial abstract swashbuckler
juggler: baron raised_fist
troubadour: baron
turtle_bean: baron
""")

AGAINST = _read("""
stencil: joker abstract cavendish fibonacci blueprint
ride_the_bus: scary_face smiley photograph sock_and_buskin pareidolia triboulet
banner: mystic_summit
delayed_grat: mystic_summit yorick castle faceless mail trading
burglar: banner delayed_grat yorick castle
madness: joker baron blueprint cavendish
ramen: yorick mail
green_joker: yorick merry_andy
chicot: matador
luchador: matador
blackboard: bloodstone arrowhead rough_gem
obelisk: card_sharp
vampire: steel_joker drivers_license glass
tribe: family
""")


def unlisted(keys: list[str], count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Random pairs that no list names."""
    named = {*STRONG, *GOOD, *AGAINST}
    chosen: set[tuple[str, str]] = set()
    rng = random.Random(seed)
    while len(chosen) < count:
        a, b = sorted(rng.sample(keys, 2))
        if (a, b) not in named:
            chosen.add((a, b))
    return sorted(chosen)
