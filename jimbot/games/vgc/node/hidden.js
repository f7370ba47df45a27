'use strict';
/**
 * Re-deals what a player cannot know: the dice to come, the opponent's training, which of its unseen team it brought, how
 * long sleep and confusion will last. What has been seen stays as it was.
 */

const NATURES = ['Adamant', 'Modest', 'Jolly', 'Timid', 'Bold', 'Calm', 'Hardy'];
const SPREADS = [
	{hp: 252, atk: 252, spe: 4}, {hp: 252, spa: 252, spe: 4}, {atk: 252, spe: 252, hp: 4}, {spa: 252, spe: 252, hp: 4},
	{hp: 252, def: 252, spd: 4}, {hp: 252, spd: 252, def: 4}, {hp: 4, def: 252, spe: 252},
];
const NO_EVS = {hp: 0, atk: 0, def: 0, spa: 0, spd: 0, spe: 0};

/** For the player of side `number`; `rng(n)` draws below n, `seed` is the battle's new one. */
function redraw(live, number, rng, seed, Pokemon, PRNG) {
	const {battle} = live;
	redrawRng(live, rng, seed, PRNG);
	const opponent = battle.sides[1 - number];
	if (battle.requestState !== 'teampreview') exchangeUnseen(live, opponent, rng, Pokemon);
	for (const pokemon of opponent.pokemon) retrain(pokemon, rng);
	battle.prng = new PRNG(seed); // again: a new Pokémon draws from it, one that was there already does not
	// The opponent has not answered yet; its request must tell of its new Pokémon.
	opponent.activeRequest = battle.getRequests(battle.requestState)[opponent.n];
}

/** What nobody knows. */
function redrawRng(live, rng, seed, PRNG) {
	const {battle} = live;
	battle.prng = new PRNG(seed);
	for (const side of battle.sides) {
		for (const pokemon of side.active) if (pokemon && !pokemon.fainted) reroll(pokemon, rng);
	}
}

function reroll(pokemon, rng) {
	if (pokemon.status === 'slp' && pokemon.statusState.startTime) {
		const slept = pokemon.statusState.startTime - pokemon.statusState.time;
		pokemon.statusState.startTime = Math.max(slept + 1, 2 + rng(3));
		pokemon.statusState.time = pokemon.statusState.startTime - slept;
	}
	const confusion = pokemon.volatiles.confusion;
	if (confusion) confusion.time = Math.max(1, 1 + rng(4));
}

/** Pokémon brought but never seen become any of those that could stand in their place. */
function exchangeUnseen(live, side, rng, Pokemon) {
	const seen = live.tracker.sides[side.n];
	const hidden = side.pokemon.filter((pokemon) => pokemon.position > 1 && !seen.byName.get(pokemon.name).revealed);
	const brought = new Set(side.pokemon.map((pokemon) => pokemon.name));
	const unseenSets = side.team.filter((set) => {
		const record = seen.byName.get(set.name || set.species);
		return record && !record.revealed && (!brought.has(record.name) || hidden.some((pokemon) => pokemon.name === record.name));
	});
	// Under Illusion the one behind the disguise is on the field: it can be exchanged with nobody.
	if (side.active.some((pokemon) => pokemon && pokemon.illusion)) return;
	for (const pokemon of hidden) {
		const [set] = unseenSets.splice(rng(unseenSets.length), 1);
		const place = pokemon.position;
		if ((set.name || set.species) === pokemon.set.name) continue;
		const fresh = new Pokemon(set, side);
		fresh.position = place;
		side.pokemon[place] = fresh;
	}
}

/** Other effort values and nature, the same share of HP. */
function retrain(pokemon, rng) {
	const shown = pokemon.getHealth().shared;
	pokemon.set = {...pokemon.set, nature: NATURES[rng(NATURES.length)], evs: {...NO_EVS, ...SPREADS[rng(SPREADS.length)]}};
	const before = {hp: pokemon.hp, maxhp: pokemon.maxhp};
	const stats = pokemon.battle.spreadModify(pokemon.species.baseStats, pokemon.set);
	if (pokemon.species.maxHP) stats.hp = pokemon.species.maxHP;
	for (const name of ['atk', 'def', 'spa', 'spd', 'spe']) {
		pokemon.baseStoredStats[name] = stats[name];
		if (!pokemon.transformed) pokemon.storedStats[name] = stats[name];
	}
	pokemon.baseMaxhp = pokemon.maxhp = stats.hp;
	pokemon.hp = pokemon.fainted || !before.hp ? 0 : Math.max(1, Math.round((before.hp * stats.hp) / before.maxhp));
	pokemon.speed = pokemon.storedStats.spe;
	if (pokemon.hp === stats.hp && before.hp < before.maxhp) pokemon.hp--;
	if (pokemon.getHealth().shared !== shown) settleHealth(pokemon, shown);
}

/** Moves HP to the nearest value that shows the same percentage. */
function settleHealth(pokemon, shown) {
	const wanted = pokemon.hp;
	for (let step = 1; step < pokemon.maxhp; step++) {
		for (const hp of [wanted + step, wanted - step]) {
			if (hp < 1 || hp > pokemon.maxhp) continue;
			pokemon.hp = hp;
			if (pokemon.getHealth().shared === shown) return;
		}
	}
	pokemon.hp = wanted;
}

module.exports = {redraw, redrawRng};
