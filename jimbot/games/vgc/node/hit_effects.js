'use strict';
/**
 * What abilities, items and moves do to a hit, as tables for sight.js: each entry tells a factor, or nothing where it
 * has no say. `c` is the hit as it is planned there: move, type, attacker, target, scene.
 */

const BURDENED = new Set(['brn', 'par', 'psn', 'tox', 'slp', 'frz']);
const PIERCING = new Set(['moldbreaker', 'teravolt', 'turboblaze']);
const SEES_GHOSTS = new Set(['scrappy', 'mindseye']);
const NO_HASTE = new Set(['dazzling', 'queenlymajesty', 'armortail']);
const NORMAL_INTO = {pixilate: 'Fairy', aerilate: 'Flying', galvanize: 'Electric', refrigerate: 'Ice'};
const WEATHER_TYPE = {raindance: 'Water', sunnyday: 'Fire', sandstorm: 'Rock', snowscape: 'Ice'};
const IN_A_PINCH = {overgrow: 'Grass', blaze: 'Fire', torrent: 'Water', swarm: 'Bug'};
const RUINS = {tabletsofruin: 'atk', swordofruin: 'def', vesselofruin: 'spa', beadsofruin: 'spd'};
const TYPE_ITEMS = {
	charcoal: 'Fire', mysticwater: 'Water', miracleseed: 'Grass', magnet: 'Electric', nevermeltice: 'Ice', blackbelt: 'Fighting',
	poisonbarb: 'Poison', softsand: 'Ground', sharpbeak: 'Flying', twistedspoon: 'Psychic', silverpowder: 'Bug', hardstone: 'Rock',
	spelltag: 'Ghost', dragonfang: 'Dragon', blackglasses: 'Dark', metalcoat: 'Steel', silkscarf: 'Normal', fairyfeather: 'Fairy',
};
const BERRIES = {
	occaberry: 'Fire', passhoberry: 'Water', wacanberry: 'Electric', rindoberry: 'Grass', yacheberry: 'Ice', chopleberry: 'Fighting',
	kebiaberry: 'Poison', shucaberry: 'Ground', cobaberry: 'Flying', payapaberry: 'Psychic', tangaberry: 'Bug', chartiberry: 'Rock',
	kasibberry: 'Ghost', habanberry: 'Dragon', colburberry: 'Dark', babiriberry: 'Steel', roseliberry: 'Fairy',
};

/** On the power of a move, by the attacker's ability. */
const POWER_BY_ABILITY = {
	technician: (c) => c.power <= 60 && 1.5,
	toughclaws: (c) => c.move.flags.contact && 1.3,
	sharpness: (c) => c.move.flags.slicing && 1.5,
	strongjaw: (c) => c.move.flags.bite && 1.5,
	megalauncher: (c) => c.move.flags.pulse && 1.5,
	ironfist: (c) => c.move.flags.punch && 1.2,
	punkrock: (c) => c.move.flags.sound && 1.3,
	reckless: (c) => (c.move.recoil || c.move.hasCrashDamage) && 1.2,
	sheerforce: (c) => (c.move.secondaries || c.move.hasSheerForce) && 1.3,
	steelyspirit: (c) => c.type === 'Steel' && 1.5,
	sandforce: (c) => c.scene.weather === 'sandstorm' && ['Rock', 'Ground', 'Steel'].includes(c.type) && 1.3,
	toxicboost: (c) => c.physical && ['psn', 'tox'].includes(c.attacker.status) && 1.5,
	flareboost: (c) => !c.physical && c.attacker.status === 'brn' && 1.5,
};

/** On the attacking stat, by the attacker's ability. */
const ATTACK_BY_ABILITY = {
	hugepower: (c) => c.physical && 2,
	purepower: (c) => c.physical && 2,
	hustle: (c) => c.physical && 1.5,
	guts: (c) => c.physical && BURDENED.has(c.attacker.status) && 1.5,
	solarpower: (c) => !c.physical && c.scene.weather === 'sunnyday' && 1.5,
	orichalcumpulse: (c) => c.physical && c.scene.weather === 'sunnyday' && 5461 / 4096,
	hadronengine: (c) => !c.physical && c.scene.terrain === 'electricterrain' && 5461 / 4096,
	defeatist: (c) => c.attacker.hp <= 500 && 0.5,
	transistor: (c) => c.type === 'Electric' && 1.3,
	dragonsmaw: (c) => c.type === 'Dragon' && 1.5,
	rockypayload: (c) => c.type === 'Rock' && 1.5,
	steelworker: (c) => c.type === 'Steel' && 1.5,
	waterbubble: (c) => c.type === 'Water' && 2,
};

/** On the attacking stat, by the target's ability. */
const ATTACK_BY_TARGET = {
	thickfat: (c) => ['Fire', 'Ice'].includes(c.type) && 0.5,
	heatproof: (c) => c.type === 'Fire' && 0.5,
	waterbubble: (c) => c.type === 'Fire' && 0.5,
	purifyingsalt: (c) => c.type === 'Ghost' && 0.5,
};

/** On the defending stat, by the target's ability. */
const DEFENCE_BY_ABILITY = {
	furcoat: (c) => c.defence === 'def' && 2,
	marvelscale: (c) => c.defence === 'def' && BURDENED.has(c.target.status) && 1.5,
	grasspelt: (c) => c.defence === 'def' && c.scene.terrain === 'grassyterrain' && 1.5,
};

/** On the whole damage, by the target's ability. */
const SOFTENED = {
	solidrock: (c) => c.effectiveness > 0 && 0.75,
	filter: (c) => c.effectiveness > 0 && 0.75,
	prismarmor: (c) => c.effectiveness > 0 && 0.75,
	multiscale: (c) => c.target.hp >= 1000 && 0.5,
	shadowshield: (c) => c.target.hp >= 1000 && 0.5,
	icescales: (c) => !c.physical && 0.5,
	punkrock: (c) => c.move.flags.sound && 0.5,
	fluffy: (c) => (c.move.flags.contact && c.attacker.ability !== 'longreach' ? 0.5 : 1) * (c.type === 'Fire' ? 2 : 1),
};

/** The power of moves that is worked out in battle; [least, most] where not all is known. */
const POWERS = {
	acrobatics: (c) => (c.attacker.item && c.attacker.item !== 'none' ? 55 : c.attacker.item ? 110 : [55, 110]),
	eruption: (c) => Math.max(1, Math.floor((150 * c.attacker.hp) / 1000)),
	waterspout: (c) => Math.max(1, Math.floor((150 * c.attacker.hp) / 1000)),
	dragonenergy: (c) => Math.max(1, Math.floor((150 * c.attacker.hp) / 1000)),
	storedpower: (c) => 20 + 20 * raised(c.attacker.boosts),
	powertrip: (c) => 20 + 20 * raised(c.attacker.boosts),
	hex: (c) => (c.target.status || c.target.ability === 'comatose' ? 130 : 65),
	infernalparade: (c) => (c.target.status || c.target.ability === 'comatose' ? 120 : 60),
	weatherball: (c) => (WEATHER_TYPE[c.scene.weather] ? 100 : 50),
	terrainpulse: (c) => (c.scene.terrain && c.attacker.grounded ? 100 : 50),
	risingvoltage: (c) => (c.scene.terrain === 'electricterrain' && c.target.grounded ? 140 : 70),
	terablast: (c) => (c.attacker.terastallized && c.attacker.teraType.toLowerCase() === 'stellar' ? 100 : 80),
	heavyslam: (c) => byWeight(c.attacker.weight / c.target.weight, [[5, 120], [4, 100], [3, 80], [2, 60]], 40),
	heatcrash: (c) => byWeight(c.attacker.weight / c.target.weight, [[5, 120], [4, 100], [3, 80], [2, 60]], 40),
	grassknot: (c) => byWeight(c.target.weight, [[200, 120], [100, 100], [50, 80], [25, 60], [10, 40]], 20),
	lowkick: (c) => byWeight(c.target.weight, [[200, 120], [100, 100], [50, 80], [25, 60], [10, 40]], 20),
	ragefist: () => [50, 350],
	lastrespects: () => [50, 200],
	gyroball: () => [1, 150],
	electroball: () => [40, 150],
	reversal: () => [20, 200],
	flail: () => [20, 200],
	crushgrip: () => [1, 120],
	hardpress: () => [1, 100],
	tripleaxel: () => 40, // on average of its three
};

/** On the power of a move, by itself. */
const POWER_BY_MOVE = {
	knockoff: (c) => c.target.item && c.target.item !== 'none' && 1.5,
	facade: (c) => ['brn', 'par', 'psn', 'tox'].includes(c.attacker.status) && 2,
	venoshock: (c) => ['psn', 'tox'].includes(c.target.status) && 2,
	barbbarrage: (c) => ['psn', 'tox'].includes(c.target.status) && 2,
	expandingforce: (c) => c.scene.terrain === 'psychicterrain' && c.attacker.grounded && 1.5,
	mistyexplosion: (c) => c.scene.terrain === 'mistyterrain' && c.attacker.grounded && 1.5,
	psyblade: (c) => c.scene.terrain === 'electricterrain' && 1.5,
	solarbeam: (c) => c.scene.weather && c.scene.weather !== 'sunnyday' && WEATHER_TYPE[c.scene.weather] && 0.5,
	solarblade: (c) => c.scene.weather && c.scene.weather !== 'sunnyday' && WEATHER_TYPE[c.scene.weather] && 0.5,
};
const SHAKEN = new Set(['earthquake', 'bulldoze', 'magnitude']);
/** Moves whose power may be doubled, or raised by half, by what the turn brings. */
const MAY_BE_MORE = {
	payback: 2, avalanche: 2, revenge: 2, assurance: 2, boltbeak: 2, fishiousrend: 2, stompingtantrum: 2, temperflare: 2,
	lashout: 2, round: 2, pursuit: 2, knockoff: 1.5, dragoncheer: 1, grassyglide: 1, gravapple: 1.5, fusionflare: 2, fusionbolt: 2,
	echoedvoice: 5, furycutter: 4, rollout: 16, iceball: 16, spitup: 3, beatup: 3, fling: 4,
};

function raised(boosts) {
	return Object.values(boosts).reduce((sum, stage) => sum + Math.max(0, stage), 0);
}

function byWeight(weight, table, least) {
	const found = table.find(([from]) => weight >= from);
	return found ? found[1] : least;
}

module.exports = {
	ATTACK_BY_ABILITY, ATTACK_BY_TARGET, BERRIES, BURDENED, DEFENCE_BY_ABILITY, IN_A_PINCH, MAY_BE_MORE,
	NORMAL_INTO, NO_HASTE, PIERCING, POWERS, POWER_BY_ABILITY, POWER_BY_MOVE, RUINS, SEES_GHOSTS, SHAKEN,
	SOFTENED, TYPE_ITEMS, WEATHER_TYPE,
};
