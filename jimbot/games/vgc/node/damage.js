'use strict';
/**
 * How much a move is expected to hurt, in percent of the target's full HP, from what a player may know: own stats are
 * exact, an opponent's are those of its species without training. A rough copy of the damage formula: enough to rank moves,
 * and what the heuristic players go by, so it stays as it is.
 */

const IMMUNE_BY_ABILITY = {
	levitate: 'Ground', eartheater: 'Ground', flashfire: 'Fire', wellbakedbody: 'Fire', waterabsorb: 'Water',
	stormdrain: 'Water', dryskin: 'Water', voltabsorb: 'Electric', lightningrod: 'Electric', motordrive: 'Electric',
	sapsipper: 'Grass',
};
const SOUND_PROOF = 'soundproof';
const WEATHER_BOOST = {raindance: {Water: 1.5, Fire: 0.5}, sunnyday: {Fire: 1.5, Water: 0.5}};
const TERRAIN_BOOST = {electricterrain: 'Electric', grassyterrain: 'Grass', psychicterrain: 'Psychic'};
const SPREAD_TARGETS = new Set(['allAdjacent', 'allAdjacentFoes']);
const TYPICAL_POWER = 60; // of moves whose power is worked out in battle
const LEVEL_DAMAGE = new Set(['seismictoss', 'nightshade']);
const HALVING = new Set(['superfang', 'naturesmadness', 'ruination']);
const MOST = 250; // percent; more means nothing

const boosted = (stat, stage) => (stage >= 0 ? (stat * (2 + stage)) / 2 : (stat * 2) / (2 - stage));

const GENES = 31;
const TYPICAL_EFFORT = 84; // a sixth of what may be given

function typicalStat(name, base, level) {
	const core = Math.floor(((2 * base + GENES + Math.floor(TYPICAL_EFFORT / 4)) * level) / 100);
	return name === 'hp' ? core + level + 10 : core + 5;
}

/** Stats of a species at a level without any training to speak of. */
function typicalStats(species, level) {
	return Object.fromEntries(Object.entries(species.baseStats).map(([name, base]) => [name, typicalStat(name, base, level)]));
}

function averageHits(move) {
	if (!move.multihit) return 1;
	return Array.isArray(move.multihit) ? 3.1 : move.multihit;
}

/** `attacker` and `target` are views (see features.js): types, stats, boosts, ability, item, status, level, grounded. */
function expectedDamage(dex, move, attacker, target, scene) {
	if (move.category === 'Status' || !attacker || !target || target.fainted) return 0;
	const type = moveType(move, attacker);
	if (isImmune(dex, move, type, target, scene)) return 0;
	if (LEVEL_DAMAGE.has(move.id)) return clamp((100 * attacker.level) / target.stats.hp);
	if (HALVING.has(move.id)) return clamp(target.hp / 20);
	if (move.ohko) return 30;
	const power = move.basePower || TYPICAL_POWER;
	const physical = move.category === 'Physical';
	const attack = attackStat(move, attacker, target, physical);
	const defence = defenceStat(move, target, physical, scene);
	let damage = Math.floor((Math.floor((2 * attacker.level) / 5 + 2) * power * attack) / defence / 50) + 2;
	damage *= averageHits(move) * modifiers(dex, move, type, attacker, target, physical, scene);
	return clamp((100 * damage) / target.stats.hp);
}

/** Whether a hit of this type does nothing to a target. */
function isImmune(dex, move, type, target, scene) {
	if (IMMUNE_BY_ABILITY[target.ability] === type || (target.ability === SOUND_PROOF && move.flags.sound)) return true;
	if (!move.ignoreImmunity && !dex.getImmunity(type, target.types)) return true;
	if (type === 'Ground' && target.item === 'airballoon') return true;
	return scene.terrain === 'psychicterrain' && move.priority > 0 && target.grounded;
}

function clamp(percent) {
	return Math.max(0, Math.min(MOST, Math.round(percent)));
}

function moveType(move, attacker) {
	if (move.id === 'terablast' && attacker.terastallized) return attacker.types[0];
	if (move.id === 'ivycudgel' || move.id === 'ragingbull') return attacker.types[attacker.types.length - 1];
	return move.type;
}

function attackStat(move, attacker, target, physical) {
	if (move.overrideOffensivePokemon === 'target') return boosted(target.stats.atk, target.boosts.atk || 0);
	const name = move.overrideOffensiveStat || (physical ? 'atk' : 'spa');
	let stat = boosted(attacker.stats[name], attacker.boosts[name] || 0);
	if (attacker.item === (physical ? 'choiceband' : 'choicespecs')) stat *= 1.5;
	if (physical && (attacker.ability === 'hugepower' || attacker.ability === 'purepower')) stat *= 2;
	return stat;
}

function defenceStat(move, target, physical, scene) {
	const name = move.overrideDefensiveStat || (physical ? 'def' : 'spd');
	let stat = boosted(target.stats[name], target.boosts[name] || 0);
	if (!physical && target.item === 'assaultvest') stat *= 1.5;
	if (!physical && scene.weather === 'sandstorm' && target.types.includes('Rock')) stat *= 1.5;
	if (physical && scene.weather === 'snowscape' && target.types.includes('Ice')) stat *= 1.5;
	return stat;
}

function modifiers(dex, move, type, attacker, target, physical, scene) {
	let factor = 0.925; // the middle of the random roll
	factor *= 2 ** dex.getEffectiveness(type, target.types);
	if (attacker.ownTypes.includes(type) && attacker.terastallized && attacker.types.includes(type)) factor *= 2;
	else if (attacker.ownTypes.includes(type) || attacker.types.includes(type)) factor *= 1.5;
	if (SPREAD_TARGETS.has(move.target) && scene.crowded) factor *= 0.75;
	factor *= (WEATHER_BOOST[scene.weather] || {})[type] || 1;
	if (TERRAIN_BOOST[scene.terrain] === type && attacker.grounded) factor *= 1.3;
	if (physical && attacker.status === 'brn' && attacker.ability !== 'guts') factor *= 0.5;
	if (attacker.item === 'lifeorb') factor *= 1.3;
	if (target.screens[physical ? 'reflect' : 'lightscreen'] || target.screens.auroraveil) factor *= 0.67;
	return factor;
}

module.exports = {boosted, expectedDamage, typicalStats};
