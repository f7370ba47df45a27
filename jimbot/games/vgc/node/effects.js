'use strict';
/**
 * What lines of a battle tell about the Pokémon on the field: stat changes, lasting effects, how long each has been out.
 *
 * The simulator knows these from its own state; somebody at a server, or with a log, must read them. Effects that end
 * without a line end here by the simulator's own rules: after so many turns, or with the next move.
 */

const STAGES = ['atk', 'def', 'spa', 'spd', 'spe', 'accuracy', 'evasion'];
const BINDING = new Set(['bind', 'clamp', 'firespin', 'infestation', 'magmastorm', 'sandtomb', 'snaptrap', 'thundercage', 'whirlpool', 'wrap']);
const STALLING = new Set(['protect', 'detect', 'endure', 'wideguard', 'quickguard', 'spikyshield', 'kingsshield', 'banefulbunker', 'silktrap', 'obstruct', 'burningbulwark', 'maxguard']);
const UNTIL_NEXT_MOVE = new Set(['destinybond', 'glaiverush']);
const MOST_STALLING = 729;
const LAST_PERISH = 4; // turns when the song is sung

/** One place on the field. */
class Place {
	constructor() {
		this.enter();
	}

	enter() {
		this.boosts = Object.fromEntries(STAGES.map((stat) => [stat, 0]));
		this.volatiles = {};
		this.activeTurns = 0;
		this.forme = '';
		this.fainted = false;
		this.acted = true; // this turn
		this.stalling = false; // its last move was a Protect, which fails with a line and starts its count anew
	}

	/** What a successor by Baton Pass or Shed Tail takes over. */
	inherit(boosts, volatiles) {
		this.boosts = boosts;
		this.volatiles = volatiles;
	}
}

class Effects {
	constructor(toID) {
		this.toID = toID;
		this.sides = [0, 1].map(() => [new Place(), new Place()]);
		this.lastMover = null;
	}

	/** The place of `p2b: Name`; null where a line names none on the field. */
	find(ident) {
		const match = /^p([12])([ab]): /.exec(ident || '');
		return match ? this.sides[Number(match[1]) - 1]['ab'.indexOf(match[2])] : null;
	}

	id(text) {
		return this.toID((text || '').replace(/^(move|ability|item): /, ''));
	}

	read(parts) {
		const handler = HANDLERS[parts[1]];
		if (handler) handler(this, parts, this.find(parts[2]));
	}

	/** Whoever was held by the one that leaves is free. */
	release(place) {
		for (const {volatiles} of this.sides.flat()) if (volatiles.trapped && volatiles.trapped.by === place) delete volatiles.trapped;
	}
}

const enter = (effects, parts, place) => {
	if (!place) return;
	const from = parts.find((part) => part.startsWith('[from] ')) || '';
	const {boosts, volatiles} = place;
	effects.release(place);
	place.enter();
	if (from.endsWith('Baton Pass')) place.inherit(boosts, {...volatiles, stall: undefined});
	if (from.endsWith('Shed Tail') && volatiles.substitute) place.inherit(place.boosts, {substitute: volatiles.substitute});
};

const at = (change) => (effects, parts, place) => {
	if (place) change(place, parts, effects);
};

const clamp = (stage) => Math.max(-6, Math.min(6, stage));

function begin(place, parts, effects) {
	const id = effects.id(parts[3]);
	const perish = /^perish(\d)$/.exec(id);
	if (perish) place.volatiles.perishsong = {duration: parts.includes('[silent]') ? LAST_PERISH : Number(perish[1])};
	else if (id.startsWith('quarkdrive')) place.volatiles.quarkdrive = {};
	else if (id.startsWith('protosynthesis')) place.volatiles.protosynthesis = {};
	else place.volatiles[id] = {};
}

function end(place, parts, effects) {
	const id = effects.id(parts[3]);
	delete place.volatiles[BINDING.has(id) ? 'partiallytrapped' : id];
}

function stall(place) {
	const {counter = 1} = place.volatiles.stall || {};
	place.volatiles.stall = {counter: Math.min(MOST_STALLING, 3 * counter), duration: 2};
}

function singleTurn(place, parts, effects) {
	const id = effects.id(parts[3]);
	if (STALLING.has(id)) stall(place);
	else place.volatiles[id] = {duration: 1};
}

function activate(place, parts, effects) {
	const id = effects.id(parts[3]);
	if (BINDING.has(id)) place.volatiles.partiallytrapped = {};
	else if (id === 'trapped') place.volatiles.trapped = {by: effects.lastMover};
	else if (id === 'commander') {
		const of = parts.find((part) => part.startsWith('[of] '));
		const partner = of ? effects.find(of.slice(5)) : null;
		place.volatiles.commanding = {};
		if (partner) partner.volatiles.commanded = {};
	}
}

/** A Pokémon begins to act: what lasted until then is over. */
function acts(place, parts, effects) {
	const id = effects.id(parts[3]);
	place.acted = true;
	for (const name of UNTIL_NEXT_MOVE) if (name !== id || name === 'glaiverush') delete place.volatiles[name];
}

const HANDLERS = {
	switch: enter,
	drag: enter,
	swap: (effects, parts, place) => { if (place) effects.sides[parts[2][1] - 1].reverse(); },
	turn: (effects) => {
		for (const place of effects.sides.flat()) {
			place.activeTurns++;
			place.acted = false;
		}
	},
	upkeep: (effects) => {
		for (const {volatiles} of effects.sides.flat()) {
			for (const [id, state] of Object.entries(volatiles)) {
				if (state && id !== 'perishsong' && state.duration && --state.duration === 0) delete volatiles[id];
			}
		}
	},
	faint: (effects, parts, place) => {
		if (!place) return;
		place.fainted = true;
		effects.release(place);
		const side = effects.sides[parts[2][1] - 1];
		if (place.volatiles.commanded) for (const mate of side) delete mate.volatiles.commanding;
	},
	move: at((place, parts, effects) => {
		effects.lastMover = place;
		place.stalling = STALLING.has(effects.id(parts[3]));
		acts(place, parts, effects);
	}),
	cant: at((place, parts, effects) => {
		acts(place, parts, effects);
		delete place.volatiles.twoturnmove;
		if (parts[3] === 'recharge') delete place.volatiles.mustrecharge;
	}),
	'-start': at(begin),
	'-end': at(end),
	'-singleturn': at(singleTurn),
	'-singlemove': at((place, parts, effects) => { place.volatiles[effects.id(parts[3])] = {}; }),
	'-activate': at(activate),
	'-mustrecharge': at((place) => { place.volatiles.mustrecharge = {duration: 2}; }),
	'-prepare': at((place) => { place.volatiles.twoturnmove = {duration: 2}; }),
	'-anim': at((place) => { delete place.volatiles.twoturnmove; }), // charged at once
	'-fail': at((place, parts, effects) => {
		const others = effects.sides.flat().some((other) => other !== place && !other.acted && !other.fainted);
		if (place.stalling && place === effects.lastMover && others) delete place.volatiles.stall; // the last to act fails for another reason
	}),
	'-formechange': at((place, parts) => { place.forme = parts[3]; }),
	detailschange: at((place) => { place.forme = ''; }),
	'-transform': at((place, parts, effects) => {
		const other = effects.find(parts[3]);
		if (other) place.boosts = {...other.boosts};
	}),
	'-boost': at((place, parts) => { place.boosts[parts[3]] = clamp(place.boosts[parts[3]] + Number(parts[4])); }),
	'-unboost': at((place, parts) => { place.boosts[parts[3]] = clamp(place.boosts[parts[3]] - Number(parts[4])); }),
	'-setboost': at((place, parts) => { place.boosts[parts[3]] = Number(parts[4]); }),
	'-clearboost': at((place) => { for (const stat of STAGES) place.boosts[stat] = 0; }),
	'-clearallboost': (effects) => { for (const place of effects.sides.flat()) for (const stat of STAGES) place.boosts[stat] = 0; },
	'-clearnegativeboost': at((place) => { for (const stat of STAGES) place.boosts[stat] = Math.max(0, place.boosts[stat]); }),
	'-clearpositiveboost': at((place) => { for (const stat of STAGES) place.boosts[stat] = Math.min(0, place.boosts[stat]); }),
	'-invertboost': at((place) => { for (const stat of STAGES) place.boosts[stat] = -place.boosts[stat] || 0; }),
	'-copyboost': at((place, parts, effects) => {
		const other = effects.find(parts[3]);
		if (other) place.boosts = {...other.boosts};
	}),
	'-swapboost': at((place, parts, effects) => {
		const other = effects.find(parts[3]);
		if (!other) return;
		const stats = parts[4] && !parts[4].startsWith('[') ? parts[4].split(', ') : STAGES;
		for (const stat of stats) [place.boosts[stat], other.boosts[stat]] = [other.boosts[stat], place.boosts[stat]];
	}),
};

module.exports = {Effects, Place};
