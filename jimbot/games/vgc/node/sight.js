'use strict';
/**
 * What a good player works out before deciding, from what a player may know: the damage of a move as a range with the
 * chance of a knock-out, and who acts before whom.
 *
 * The rules it shares with the rough estimate (types, stats, immunities, terrains) are in damage.js, what abilities and
 * items do in hit_effects.js; here they are followed step by step with the simulator's own roundings. Own stats are
 * exact. A rival's training is hidden, so a range goes from the best to the worst trained one, and chances are over the
 * typical builds below. Left out: critical hits (but those that always are), what partners and rivals do this turn
 * (Protect, Helping Hand, redirection), and abilities and items nobody has shown.
 */

const {
	TERRAIN_BOOST, WEATHER_BOOST, attackName, boosted, defenceName, isImmune, isSpread, moveType, trainedStat,
} = require('./damage');
const {
	ATTACK_BY_ABILITY, ATTACK_BY_TARGET, BERRIES, BURDENED, DEFENCE_BY_ABILITY, IN_A_PINCH, MAY_BE_MORE,
	NORMAL_INTO, NO_HASTE, PIERCING, POWERS, POWER_BY_ABILITY, POWER_BY_MOVE, RUINS, SEES_GHOSTS, SHAKEN,
	SOFTENED, TYPE_ITEMS, WEATHER_TYPE,
} = require('./hit_effects');

const MOST = 250; // percent; more means nothing
const ROLLS = Array.from({length: 16}, (_, place) => 85 + place);
const LEAST = {ev: 0, nature: 0.9};
const SLOWEST = {...LEAST, iv: 0};
const FULL = {ev: 252, nature: 1.1};
const NO_EV = {ev: 0, nature: 1};
const ALL_EV = {ev: 252, nature: 1};
/** What rivals are trained for, with its share: [share, hp, attack, defence, speed]. */
const BUILDS = [
	[0.3, NO_EV, FULL, NO_EV, ALL_EV],
	[0.3, NO_EV, ALL_EV, NO_EV, FULL],
	[0.25, ALL_EV, ALL_EV, NO_EV, NO_EV],
	[0.15, ALL_EV, NO_EV, ALL_EV, LEAST],
].map(([share, hp, attack, defence, speed]) => ({share, hp, attack, defence, speed}));

/** A factor that is known only to lie between two numbers. */
class Band {
	constructor(low = 1, high = low) {
		this.low = low;
		this.high = high;
	}

	/** Times a factor that applies for certain; nothing for what does not. */
	times(factor) {
		if (factor) [this.low, this.high] = [this.low * factor, this.high * factor];
		return this;
	}

	/** Times a factor that may apply. */
	maybe(factor) {
		if (factor > 1) this.high *= factor;
		else if (factor) this.low *= factor;
		return this;
	}
}

/** The simulator's rounding of a factor: to 1/4096, halves down. */
function modified(value, factor) {
	return Math.floor((Math.floor(value * Math.floor(factor * 4096)) + 2047) / 4096);
}

// --- stats ---

/** A stat of a Pokémon, exact where it is one's own, else of a training. */
function statOf(view, name, training) {
	if (view.own) return view.stats[name];
	return trainedStat(name, view.baseStats[name], view.level, training.ev, training.nature, training.iv);
}

/** [least, most] HP that are left. */
function healthLeft(view, training) {
	if (view.own) return [view.pokemon.hp, view.pokemon.hp];
	const full = statOf(view, 'hp', {...training, nature: 1});
	const percent = view.hp / 10;
	if (percent >= 100) return [full, full];
	return [Math.max(1, Math.floor(((percent - 1) * full) / 100) + 1), Math.max(1, percent >= 99 ? full - 1 : Math.floor((percent * full) / 100))];
}

// --- one hit ---

/** All that is known about a hit before stats and dice; null where it does nothing. */
function planOf(dex, move, attacker, target, scene) {
	if (move.category === 'Status' || !attacker || !target || target.fainted || attacker.fainted) return null;
	const c = {dex, move, scene, attacker, target};
	if (PIERCING.has(attacker.ability) || move.ignoreAbility) c.target = {...target, ability: ''};
	c.type = typeOf(c);
	const seesGhosts = SEES_GHOSTS.has(attacker.ability) && ['Normal', 'Fighting'].includes(c.type);
	if (seesGhosts) c.target = {...c.target, types: target.types.filter((type) => type !== 'Ghost')};
	c.friendly = attacker.own === target.own;
	if (isImmune(dex, move, c.type, c.target, c.friendly ? {...scene, terrain: ''} : scene) || shielded(c)) return null;
	c.physical = isPhysical(c);
	c.attack = attackName(move, c.physical);
	c.defence = defenceName(move, c.physical);
	c.effectiveness = effectivenessOf(c);
	c.hits = hitsOf(c);
	return c;
}

function typeOf(c) {
	const {move, attacker, scene} = c;
	if (move.id === 'ragingbull' || move.id === 'ivycudgel') return attacker.ownTypes[attacker.ownTypes.length - 1]; // also once terastallized
	if (move.id === 'revelationdance') return attacker.types[0];
	if (move.id === 'weatherball') return WEATHER_TYPE[scene.weather] || 'Normal';
	if (move.flags.sound && attacker.ability === 'liquidvoice') return 'Water';
	if (move.type === 'Normal' && move.id !== 'terablast' && NORMAL_INTO[attacker.ability]) return NORMAL_INTO[attacker.ability];
	return moveType(move, attacker);
}

/** Protected by an ability that the rough estimate does not know. */
function shielded(c) {
	const {move, target} = c;
	if (move.priority > 0 && !c.friendly && [target.ability, target.partner].some((ability) => NO_HASTE.has(ability))) return true;
	switch (target.ability) {
	case 'bulletproof': return !!move.flags.bullet;
	case 'overcoat': return !!move.flags.powder;
	case 'windrider': return !!move.flags.wind;
	case 'telepathy': return c.friendly;
	case 'wonderguard': return effectivenessOf(c) <= 0;
	default: return false;
	}
}

function isPhysical(c) {
	const {move, attacker} = c;
	if ((move.id === 'terablast' || move.id === 'terastarstorm') && attacker.terastallized) {
		const [atk, spa] = ['atk', 'spa'].map((name) => boosted(attacker.stats[name], attacker.boosts[name] || 0));
		return atk > spa;
	}
	return move.category === 'Physical';
}

function effectivenessOf(c) {
	let found = 0;
	for (const type of c.target.types) {
		if (c.move.id === 'freezedry' && type === 'Water') found += 1;
		else found += c.dex.getEffectiveness(c.type, type) + (c.move.id === 'flyingpress' ? c.dex.getEffectiveness('Flying', type) : 0);
	}
	return found;
}

/** [count, chance]… of how often it hits. */
function hitsOf(c) {
	const {multihit} = c.move;
	if (c.move.id === 'dragondarts') return [[1, 1], [2, 0]];
	if (!multihit) return [[1, 1]];
	if (!Array.isArray(multihit)) return c.move.multiaccuracy ? [[1, 0.1], [multihit, 0.9]] : [[multihit, 1]];
	if (c.attacker.ability === 'skilllink') return [[multihit[1], 1]];
	return [[2, 0.35], [3, 0.35], [4, 0.15], [5, 0.15]];
}

/** Power before the chain of factors. */
function powerOf(c) {
	const given = POWERS[c.move.id] ? POWERS[c.move.id](c) : c.move.basePower || 60;
	const [low, high] = Array.isArray(given) ? given : [given, given];
	const teraFloor = c.attacker.terastallized && c.attacker.types.includes(c.type) && c.move.priority <= 0 && !c.move.multihit;
	return new Band(teraFloor ? Math.max(60, low) : low, teraFloor ? Math.max(60, high) : high);
}

function powerChain(c) {
	const {move, attacker, target, scene, type} = c;
	const chain = new Band();
	chain.times(POWER_BY_ABILITY[attacker.ability] && POWER_BY_ABILITY[attacker.ability](c));
	if (NORMAL_INTO[attacker.ability] && move.type === 'Normal' && type === NORMAL_INTO[attacker.ability]) chain.times(1.2);
	if (attacker.ability === 'analytic') chain.maybe(1.3);
	chain.times(POWER_BY_MOVE[move.id] && POWER_BY_MOVE[move.id](c));
	if (!(move.id === 'knockoff' && target.item)) chain.maybe(MAY_BE_MORE[move.id]);
	if (TYPE_ITEMS[attacker.item] === type || attacker.item.endsWith('mask')) chain.times(1.2);
	if (attacker.item === 'muscleband' && c.physical || attacker.item === 'wiseglasses' && !c.physical) chain.times(1.1);
	if (attacker.item === 'punchingglove' && move.flags.punch) chain.times(1.1);
	if (TERRAIN_BOOST[scene.terrain] === type && attacker.grounded) chain.times(1.3);
	if (scene.terrain === 'grassyterrain' && SHAKEN.has(move.id) && target.grounded) chain.times(0.5);
	if (scene.terrain === 'mistyterrain' && type === 'Dragon' && target.grounded) chain.times(0.5);
	if (type === 'Electric' && attacker.volatiles.charge) chain.times(2);
	if (target.ability === 'dryskin' && type === 'Fire') chain.times(1.25);
	return chain;
}

function attackChain(c) {
	const {attacker, target, scene, type} = c;
	const chain = new Band();
	chain.times(ATTACK_BY_ABILITY[attacker.ability] && ATTACK_BY_ABILITY[attacker.ability](c));
	chain.times(ATTACK_BY_TARGET[target.ability] && ATTACK_BY_TARGET[target.ability](c));
	if (IN_A_PINCH[attacker.ability] === type && attacker.hp <= 333) chain.times(1.5);
	if (attacker.volatiles.flashfire && type === 'Fire') chain.times(1.5);
	if (attacker.volatiles.protosynthesis || attacker.volatiles.quarkdrive) chain.maybe(1.3);
	if (attacker.ability === 'stakeout') chain.maybe(2);
	if (attacker.item === (c.physical ? 'choiceband' : 'choicespecs')) chain.times(1.5);
	const ruined = c.physical ? 'atk' : 'spa';
	if (scene.ruins.has(ruined) && RUINS[attacker.ability] !== ruined) chain.times(0.75);
	return chain;
}

function defenceChain(c) {
	const {target, scene} = c;
	const chain = new Band();
	chain.times(DEFENCE_BY_ABILITY[target.ability] && DEFENCE_BY_ABILITY[target.ability](c));
	if (target.volatiles.protosynthesis || target.volatiles.quarkdrive) chain.maybe(1.3);
	if (c.defence === 'spd' && target.item === 'assaultvest') chain.times(1.5);
	if (target.item === 'eviolite' && target.evolves) chain.times(1.5);
	if (c.defence === 'spd' && scene.weather === 'sandstorm' && target.types.includes('Rock')) chain.times(1.5);
	if (c.defence === 'def' && scene.weather === 'snowscape' && target.types.includes('Ice')) chain.times(1.5);
	if (scene.ruins.has(c.defence) && RUINS[target.ability] !== c.defence) chain.times(0.75);
	return chain;
}

function wholeChain(c) {
	const {move, attacker, target, type} = c;
	const chain = new Band();
	chain.times(SOFTENED[target.ability] && SOFTENED[target.ability](c));
	if (attacker.item === 'lifeorb') chain.times(5324 / 4096);
	if (attacker.item === 'expertbelt' && c.effectiveness > 0) chain.times(4915 / 4096);
	if (attacker.ability === 'neuroforce' && c.effectiveness > 0) chain.times(1.25);
	if (attacker.ability === 'tintedlens' && c.effectiveness < 0) chain.times(2);
	if (attacker.ability === 'sniper' && move.willCrit) chain.times(1.5);
	if ((move.id === 'collisioncourse' || move.id === 'electrodrift') && c.effectiveness > 0) chain.times(5461 / 4096);
	if (BERRIES[target.item] === type && (c.effectiveness > 0 || type === 'Normal')) chain.times(0.5);
	const screen = target.screens[c.physical ? 'reflect' : 'lightscreen'] || target.screens.auroraveil;
	const crossed = attacker.ability === 'infiltrator' || move.willCrit || move.id === 'brickbreak' || move.id === 'psychicfangs' || move.id === 'ragingbull';
	if (screen && !crossed && !c.friendly) chain.times(2732 / 4096);
	if (target.partner === 'friendguard' && !PIERCING.has(attacker.ability)) chain.times(0.75);
	return chain;
}

function sameType(c) {
	const {attacker, type} = c;
	const born = attacker.ownTypes.includes(type);
	const has = attacker.types.includes(type);
	const adapts = attacker.ability === 'adaptability';
	if (born && has && attacker.terastallized) return new Band(adapts ? 2.25 : 2);
	if (has && adapts) return new Band(2);
	if (born || has) return new Band(1.5);
	if (attacker.ability === 'protean' || attacker.ability === 'libero') return new Band(1, 1.5);
	return new Band(1, attacker.terastallized && attacker.teraType.toLowerCase() === 'stellar' ? 1.2 : 1);
}

/** The stages that count: Unaware looks at none, a hit that is always critical not at those that would weaken it. */
function stages(c) {
	const {move, attacker, target} = c;
	const source = move.overrideOffensivePokemon === 'target' ? target : attacker;
	let attack = target.ability === 'unaware' ? 0 : source.boosts[c.attack] || 0;
	let defence = move.ignoreDefensive || attacker.ability === 'unaware' ? 0 : target.boosts[c.defence] || 0;
	if (move.willCrit) [attack, defence] = [Math.max(0, attack), Math.min(0, defence)];
	return {attack, defence};
}

/** Every factor of a hit, worked out once; `damage` then depends on stats and dice alone. */
function factorsOf(c) {
	const spread = isSpread(c.move) && c.scene.targets(c.move, c.attacker) > 1;
	const power = powerOf(c);
	c.power = power.high;
	const weather = (WEATHER_BOOST[c.scene.weather] || {})[c.type] || 1;
	return {
		power, powerChain: powerChain(c), attackChain: attackChain(c), defenceChain: defenceChain(c),
		whole: wholeChain(c), same: sameType(c), stages: stages(c), spread: spread ? 0.75 : 1, weather,
		burned: c.physical && c.attacker.status === 'brn' && c.attacker.ability !== 'guts' && c.move.id !== 'facade',
	};
}

/** Damage of one hit before the dice: the formula of the simulator, with its roundings. */
function baseOf(c, f, end, attack, defence) {
	const other = end === 'low' ? 'high' : 'low';
	const power = Math.max(1, modified(Math.floor(f.power[end]), f.powerChain[end]));
	const force = Math.max(1, modified(Math.floor(boosted(attack, f.stages.attack)), f.attackChain[end]));
	const guard = Math.max(1, modified(Math.floor(boosted(defence, f.stages.defence)), f.defenceChain[other]));
	let damage = Math.floor(Math.floor((Math.floor((2 * c.attacker.level) / 5 + 2) * power * force) / guard) / 50) + 2;
	if (f.spread !== 1) damage = modified(damage, f.spread);
	if (f.weather !== 1) damage = modified(damage, f.weather);
	return c.move.willCrit ? Math.floor(damage * 1.5) : damage;
}

function rolled(c, f, end, base, roll) {
	let damage = Math.floor((base * roll) / 100);
	if (f.same[end] !== 1) damage = modified(damage, f.same[end]);
	if (c.effectiveness > 0) damage *= 2 ** c.effectiveness;
	for (let step = c.effectiveness; step < 0; step++) damage = Math.floor(damage / 2);
	if (f.burned) damage = modified(damage, 0.5);
	if (f.whole[end] !== 1) damage = modified(damage, f.whole[end]);
	return Math.max(1, damage);
}

function stat(c, name, training) {
	const borrowed = name === 'attack' && c.move.overrideOffensivePokemon === 'target';
	return statOf(name === 'attack' && !borrowed ? c.attacker : c.target, c[name], training);
}

// --- answers ---

const NOTHING = Object.freeze([0, 0, 0]);
const whole = (percent) => Math.max(0, Math.min(MOST, percent));

/** [least, most, chance of a knock-out] of a move on a target, in percent of the HP it has left. */
function strike(dex, move, attacker, target, scene) {
	const c = planOf(dex, move, attacker, target, scene);
	if (!c) return NOTHING;
	const sure = fixedDamage(c);
	if (sure) return sure;
	const f = factorsOf(c);
	const [fewest, most] = [c.hits[0][0], c.hits[c.hits.length - 1][0]];
	const lowest = fewest * rolled(c, f, 'low', baseOf(c, f, 'low', stat(c, 'attack', LEAST), stat(c, 'defence', FULL)), 85);
	const highest = most * rolled(c, f, 'high', baseOf(c, f, 'high', stat(c, 'attack', FULL), stat(c, 'defence', LEAST)), 100);
	const low = Math.floor((100 * lowest) / healthLeft(target, ALL_EV)[1]);
	const high = Math.ceil((100 * highest) / healthLeft(target, NO_EV)[0]);
	if (holdsOn(c)) return [whole(Math.min(low, 99)), whole(Math.min(high, 100)), 0];
	return [whole(low), whole(high), knockOut(c, f, low, high)];
}

/** At full HP one hit leaves it standing. */
function holdsOn(c) {
	return c.target.hp >= 1000 && c.hits[c.hits.length - 1][0] === 1 && (c.target.item === 'focussash' || c.target.ability === 'sturdy');
}

/** Percent: the chance that a hit takes all that is left, over builds and dice; 0 and 100 are certain. */
function knockOut(c, f, low, high) {
	const lands = accuracyOf(c);
	if (high < 100) return 0;
	if (low >= 100) return lands === 1 ? 100 : uncertain(lands);
	let chance = 0;
	for (const build of c.attacker.own && c.target.own ? [{...BUILDS[0], share: 1}] : BUILDS) {
		const [least, most] = healthLeft(c.target, build.hp);
		const left = Math.ceil((least + most) / 2);
		const base = baseOf(c, f, 'low', stat(c, 'attack', build.attack), stat(c, 'defence', build.defence));
		for (const [count, share] of c.hits) chance += build.share * share * deadlyShare(c, f, base, left / count);
	}
	return uncertain(lands * chance);
}

/** The share of the sixteen dice with which a hit does so much damage: all from the first one that does. */
function deadlyShare(c, f, base, needed) {
	let [from, to] = [0, ROLLS.length];
	while (from < to) {
		const middle = (from + to) >> 1;
		if (rolled(c, f, 'low', base, ROLLS[middle]) >= needed) to = middle;
		else from = middle + 1;
	}
	return 1 - from / ROLLS.length;
}

/** Damage that follows from no stat; null for all other moves. */
function fixedDamage(c) {
	const {move, attacker, target} = c;
	const chance = accuracyOf(c);
	const [least, most] = healthLeft(target, NO_EV);
	const [, bulkiest] = healthLeft(target, ALL_EV);
	const exactly = (damage) => [whole(Math.floor((100 * damage) / bulkiest)), whole(Math.ceil((100 * damage) / least)), damage >= most ? Math.round(100 * chance) : 0];
	if (move.ohko) return [0, 100, Math.round(100 * chance)];
	if (move.damage === 'level') return exactly(attacker.level);
	if (move.damage) return exactly(move.damage);
	if (['superfang', 'naturesmadness', 'ruination'].includes(move.id)) return [least === 1 ? 0 : 33, least === 1 ? 100 : 50, least === 1 ? Math.round(100 * chance) : 0];
	if (move.id === 'finalgambit') {
		const [few, many] = [healthLeft(attacker, NO_EV)[0], healthLeft(attacker, ALL_EV)[1]];
		return [whole(Math.floor((100 * few) / bulkiest)), whole(Math.ceil((100 * many) / least)), few >= most ? 100 : 0];
	}
	return move.damageCallback ? [0, 100, 0] : null; // what was suffered before decides, or who has more left
}

function accuracyOf(c) {
	const {move, attacker, target, scene} = c;
	const sure = move.accuracy === true || attacker.ability === 'noguard' || target.ability === 'noguard';
	if (sure || (scene.weather === 'raindance' && ['thunder', 'hurricane', 'bleakwindstorm', 'wildboltstorm', 'sandsearstorm'].includes(move.id))) return 1;
	if (scene.weather === 'snowscape' && move.id === 'blizzard') return 1;
	const stage = Math.max(-6, Math.min(6, (attacker.boosts.accuracy || 0) - (move.ignoreEvasion ? 0 : target.boosts.evasion || 0)));
	let chance = (move.accuracy / 100) * (stage >= 0 ? (3 + stage) / 3 : 3 / (3 - stage));
	if (attacker.ability === 'compoundeyes') chance *= 1.3;
	if (attacker.ability === 'hustle' && c.physical) chance *= 0.8;
	if (attacker.item === 'widelens') chance *= 1.1;
	if (scene.gravity) chance *= 5 / 3;
	return Math.min(1, chance);
}

// --- who acts first ---

const SWIFT_IN = {swiftswim: 'raindance', chlorophyll: 'sunnyday', sandrush: 'sandstorm', slushrush: 'snowscape'};

/** Speed as it counts now, of a training where it is not one's own. */
function speedOf(view, scene, training, unburdened = false) {
	const {item} = view;
	let factor = 1;
	if (SWIFT_IN[view.ability] && SWIFT_IN[view.ability] === scene.weather) factor *= 2;
	if (view.ability === 'surgesurfer' && scene.terrain === 'electricterrain') factor *= 2;
	if (unburdened) factor *= 2;
	if (view.ability === 'quickfeet' && BURDENED.has(view.status)) factor *= 1.5;
	if ((view.volatiles.protosynthesis || view.volatiles.quarkdrive) && fastest(view, training)) factor *= 1.5;
	if (item === 'choicescarf') factor *= 1.5;
	if (item === 'ironball' || item === 'machobrace') factor *= 0.5;
	if (view.tailwind) factor *= 2;
	let speed = modified(Math.floor(boosted(statOf(view, 'spe', training), view.boosts.spe || 0)), factor);
	if (view.status === 'par' && view.ability !== 'quickfeet') speed = Math.floor(speed * 0.5);
	return Math.min(10000, speed);
}

/** Whether speed is the best stat of a Pokémon whose best one is raised. */
function fastest(view, training) {
	const of = (name) => Math.floor(boosted(statOf(view, name, name === 'spe' ? training : NO_EV), view.boosts[name] || 0));
	return ['atk', 'def', 'spa', 'spd'].every((name) => of(name) < of('spe'));
}

/** Percent: the chance that one with such speeds acts before another with moves of one priority; 0 and 100 are certain. */
function actsBefore(mine, theirs, scene) {
	const turned = scene.trickroom ? -1 : 1;
	const chance = (one, other) => 0.5 + 0.5 * Math.sign(turned * (one - other));
	const ends = [chance(mine.slowest, theirs.fastest), chance(mine.fastest, theirs.slowest)];
	if (ends[0] === ends[1] && ends[0] !== 0.5) return 100 * ends[0];
	let found = 0;
	for (const [share, speed] of mine.likely) for (const [rivalShare, rival] of theirs.likely) found += share * rivalShare * chance(speed, rival);
	return uncertain(found);
}

/** The speeds a Pokémon may have. Who was rid of its item and has Unburden is faster, unless it has left since. */
function speedsOf(view, scene) {
	const rid = view.ability === 'unburden' && view.record.itemLost && view.item === 'none' ? [false, true] : [false];
	const builds = view.own ? [{share: 1, speed: NO_EV}] : BUILDS;
	return {
		slowest: speedOf(view, scene, SLOWEST),
		fastest: speedOf(view, scene, FULL, rid.length > 1),
		likely: builds.flatMap((build) => rid.map((faster) => [build.share / rid.length, speedOf(view, scene, build.speed, faster)])),
	};
}

/** Percent of a chance that is neither 0 nor 1. */
function uncertain(chance) {
	return Math.max(1, Math.min(99, Math.round(100 * chance)));
}

module.exports = {RUINS, actsBefore, speedsOf, strike};
