'use strict';
/**
 * Heuristic players. They see a row and the list of legal actions, like any other player, and answer with an action.
 *
 * Each gives every slot code a whole-number score and plays the legal pair with the largest sum (the first of equals).
 * heuristic.py holds the same rules for NumPy rows; a test keeps the two equal, so scores must stay whole numbers.
 */

const {
	COLUMNS, FIRST_SWITCH, FOE_COLUMNS, MOVES, MOVE_CODES, NO_TARGET, ORDERS, PASS, PREVIEWS, SLOT_CODES, ownColumn,
} = require('./mask');

const WORST = -1000;

/** Named access to a row. */
class Reader {
	constructor(layout) {
		this.at = layout.offsets;
		this.columns = {};
		this.widths = {};
		for (const [field, names] of Object.entries(layout.columns)) {
			this.columns[field] = Object.fromEntries(names.map((name, place) => [name, place]));
			this.widths[field] = names.length;
		}
	}

	pokemon(row, place, name) {
		return row[this.at.pokemon + place * this.widths.pokemon + this.columns.pokemon[name]];
	}

	move(row, place, move, name) {
		return row[this.at[`move_${move + 1}`] + place * this.widths.move + this.columns.move[name]];
	}

	moveId(row, place, move, what) {
		return row[this.at[`move_${move + 1}_${what}`] + place];
	}

	damage(row, slot, move, target) {
		return row[this.at.damage + slot * 12 + move * 3 + target];
	}

	threat(row, opponent, move, slot) {
		return row[this.at.threat + opponent * 8 + move * 2 + slot];
	}

	outspeeds(row, slot, opponent) {
		return row[this.at.outspeeds + slot * 2 + opponent];
	}

	side(row, place, name) {
		return row[this.at.side + place * this.widths.side + this.columns.side[name]];
	}

	field(row, name) {
		return row[this.at.field + this.columns.field[name]];
	}

	match(row, name, place, opponent) {
		return row[this.at[name] + place * 6 + opponent];
	}

	status(row, place) {
		return row[this.at.status + place];
	}

	teraType(row, place) {
		return row[this.at.tera_type + place];
	}

	mustSwitch(row) {
		return row[this.at.phase + this.columns.phase.force_switch];
	}

	/** HP in percent, 0..100. */
	hp(row, place) {
		return Math.floor(this.pokemon(row, place, 'hp') / 10);
	}
}

const FOE = 6;

/** 0 and 1: an opponent; 2: the partner; 3: oneself; -1: no target. */
function aimOf(slot, column) {
	if (column === NO_TARGET) return -1;
	if (FOE_COLUMNS.includes(column)) return FOE_COLUMNS.indexOf(column);
	return column === ownColumn(slot) ? 3 : 2;
}

/** What an attack is worth in a simple player's eyes: its power, or the damage it is expected to do. */
function powerScore(r, row, slot, move, aim) {
	const power = r.move(row, slot, move, 'power');
	if (aim >= 2) return -power;
	return r.move(row, slot, move, 'spread') ? Math.floor((3 * power) / 2) : power;
}

function damageScore(r, row, slot, move, aim) {
	if (aim === 3) return 0;
	if (aim >= 0) return aim === 2 ? -r.damage(row, slot, move, 2) : r.damage(row, slot, move, aim);
	if (!r.move(row, slot, move, 'spread')) return Math.max(r.damage(row, slot, move, 0), r.damage(row, slot, move, 1));
	const partner = r.moveId(row, slot, move, 'target') === ALL_ADJACENT ? r.damage(row, slot, move, 2) : 0;
	return r.damage(row, slot, move, 0) + r.damage(row, slot, move, 1) - partner;
}

const ALL_ADJACENT = 7; // its place in the table of targets

// --- the heuristic player ---

const STATUS_CATEGORY = 3;

/** The worst a slot must expect this turn, in percent. */
function worstThreat(r, row, slot) {
	let worst = 0;
	for (let opponent = 0; opponent < 2; opponent++) {
		for (let move = 0; move < MOVES; move++) worst = Math.max(worst, r.threat(row, opponent, move, slot));
	}
	return worst;
}

function isThreatened(r, row, slot) {
	return worstThreat(r, row, slot) >= r.hp(row, slot);
}

function isOutsped(r, row, slot) {
	const turned = r.field(row, 'trickroom') ? -1 : 1;
	return turned * (r.outspeeds(row, slot, 0) + r.outspeeds(row, slot, 1)) < 0;
}

/** A hit is worth the HP it takes, a knock-out half a Pokémon more. */
function hitScore(damage, hp, accuracy) {
	if (hp <= 0) return 0;
	const gain = damage >= hp ? hp + 60 : damage;
	return Math.floor((gain * accuracy) / 100);
}

function attackScore(r, row, slot, move, aim) {
	const accuracy = r.move(row, slot, move, 'accuracy');
	const hit = (target) => hitScore(r.damage(row, slot, move, target), target < 2 ? r.hp(row, FOE + target) : r.hp(row, 1 - slot), accuracy);
	let score;
	if (aim === 2) return -hit(2) - 40;
	if (aim === 3) score = 0;
	else if (aim >= 0) score = hit(aim);
	else if (r.move(row, slot, move, 'spread')) {
		score = hit(0) + hit(1);
		if (r.moveId(row, slot, move, 'target') === ALL_ADJACENT) score -= Math.floor((3 * hit(2)) / 2);
	} else score = Math.max(hit(0), hit(1));
	if (r.move(row, slot, move, 'priority') > 0) score += 10;
	else if (isThreatened(r, row, slot) && isOutsped(r, row, slot)) score = Math.floor((score * 7) / 10);
	if (r.move(row, slot, move, 'speed_control')) score += isOutsped(r, row, slot) ? 15 : 0;
	return score - Math.floor(r.move(row, slot, move, 'recoils') / 10);
}

function supportScore(r, row, slot, move, aim) {
	const threatened = isThreatened(r, row, slot);
	const outsped = isOutsped(r, row, slot);
	if (aim === 0 || aim === 1) {
		if (r.hp(row, FOE + aim) <= 0) return -30;
		if (r.move(row, slot, move, 'inflicts_status')) return r.status(row, FOE + aim) ? -30 : Math.floor((40 * r.move(row, slot, move, 'accuracy')) / 100);
	}
	if (r.move(row, slot, move, 'protects')) {
		if (r.pokemon(row, slot, 'stall')) return -40;
		return threatened ? 55 : 5;
	}
	if (r.move(row, slot, move, 'speed_control')) return r.side(row, 0, 'tailwind') || r.field(row, 'trickroom') ? -20 : outsped ? 70 : 15;
	if (r.move(row, slot, move, 'redirects')) return isThreatened(r, row, 1 - slot) && r.hp(row, 1 - slot) > 0 ? 45 : 5;
	const heals = r.move(row, slot, move, 'heals');
	if (heals) return threatened && outsped ? 0 : Math.floor((Math.min(heals, 100 - r.hp(row, slot)) * 9) / 10);
	const gain = r.move(row, slot, move, 'boosts_self');
	if (gain > 0) {
		const had = r.pokemon(row, slot, 'boost_atk') + r.pokemon(row, slot, 'boost_spa') + r.pokemon(row, slot, 'boost_spe');
		return threatened || had >= 2 ? 0 : Math.min(50, 20 * gain);
	}
	if (r.move(row, slot, move, 'weather_or_terrain')) return row[r.at.weather] ? 0 : 20;
	if (r.move(row, slot, move, 'lowers_target') < 0) return 15;
	return 10;
}

/** How a Pokémon (own place) stands against the opponents on the field. */
function standing(r, row, place) {
	let score = 0;
	for (let opponent = 0; opponent < 2; opponent++) {
		if (r.hp(row, FOE + opponent) <= 0) continue;
		score += Math.min(100, r.match(row, 'matchup', place, opponent)) - Math.min(100, r.match(row, 'matchup_threat', place, opponent));
	}
	return score;
}

function switchScore(r, row, slot, place) {
	if (r.mustSwitch(row)) return 200 + standing(r, row, place) + Math.floor(r.hp(row, place) / 4);
	const gain = Math.floor((standing(r, row, place) - standing(r, row, slot)) / 4);
	return isThreatened(r, row, slot) && isOutsped(r, row, slot) ? gain - 10 : gain - 45;
}

function heuristicSlot(r, row, slot, code) {
	if (code === PASS) return 0;
	if (code >= FIRST_SWITCH) return switchScore(r, row, slot, code - FIRST_SWITCH);
	const move = Math.floor(code / MOVE_CODES);
	const aim = aimOf(slot, code % COLUMNS);
	const support = r.moveId(row, slot, move, 'category') === STATUS_CATEGORY;
	const score = support ? supportScore(r, row, slot, move, aim) : attackScore(r, row, slot, move, aim);
	if (code % MOVE_CODES < COLUMNS) return score;
	const suits = !support && r.moveId(row, slot, move, 'type') === r.teraType(row, slot);
	return score + (suits && score >= 50 ? 12 : -8);
}

/** What the two choices make of each other. */
function heuristicPair(r, row, a, b) {
	let score = 0;
	if (a >= FIRST_SWITCH || b >= FIRST_SWITCH) return score;
	const moves = [Math.floor(a / MOVE_CODES), Math.floor(b / MOVE_CODES)];
	if (r.move(row, 0, moves[0], 'protects') && r.move(row, 1, moves[1], 'protects')) score -= 40;
	const aims = [aimOf(0, a % COLUMNS), aimOf(1, b % COLUMNS)];
	if (aims[0] === aims[1] && (aims[0] === 0 || aims[0] === 1)) {
		const hp = r.hp(row, FOE + aims[0]);
		const [one, two] = [r.damage(row, 0, moves[0], aims[0]), r.damage(row, 1, moves[1], aims[1])];
		if (one >= hp && two >= hp) score -= 60;
		else if (one < hp && two < hp && one + two >= hp) score += 40;
	}
	return score;
}

function heuristicPreview(r, row, places) {
	const worth = places.map((place) => {
		let score = 0;
		for (let opponent = 0; opponent < 6; opponent++) {
			score += Math.min(100, r.match(row, 'matchup', place, opponent)) - Math.min(100, r.match(row, 'matchup_threat', place, opponent));
		}
		return score;
	});
	return 2 * (worth[0] + worth[1]) + worth[2] + worth[3];
}

// --- by name ---

const simpleSlot = (score) => (r, row, slot, code) => {
	if (code === PASS) return 0;
	if (code >= FIRST_SWITCH) return r.mustSwitch(row) ? 0 : WORST;
	return score(r, row, slot, Math.floor(code / MOVE_CODES), aimOf(slot, code % COLUMNS));
};

const RULES = {
	max_power: {slot: simpleSlot(powerScore), pair: () => 0, preview: () => 0},
	max_damage: {slot: simpleSlot(damageScore), pair: () => 0, preview: () => 0},
	heuristic: {slot: heuristicSlot, pair: heuristicPair, preview: heuristicPreview},
};

function best(rules, reader, row, legal) {
	const known = [new Map(), new Map()];
	const slotScore = (slot, code) => {
		let score = known[slot].get(code);
		if (score === undefined) {
			score = rules.slot(reader, row, slot, code);
			known[slot].set(code, score);
		}
		return score;
	};
	let chosen = legal[0];
	let most = -Infinity;
	for (const action of [...legal].sort((one, two) => one - two)) {
		let score;
		if (action >= ORDERS) score = rules.preview(reader, row, PREVIEWS[action - ORDERS]);
		else {
			const a = Math.floor(action / SLOT_CODES);
			const b = action % SLOT_CODES;
			score = slotScore(0, a) + slotScore(1, b) + rules.pair(reader, row, a, b);
		}
		if (score > most) [most, chosen] = [score, action];
	}
	return chosen;
}

const NAMES = ['random', ...Object.keys(RULES)];

/** (row, legal actions, rng) → action; `rng(n)` draws a whole number below n. */
function player(name, layout) {
	if (name === 'random') return (row, legal, rng) => legal[rng(legal.length)];
	const reader = new Reader(layout);
	return (row, legal) => best(RULES[name], reader, row, legal);
}

module.exports = {NAMES, player};
