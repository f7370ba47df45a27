'use strict';
/**
 * Which orders a request allows: exactly those the simulator would take, less the pointless ones (aims at the fainted).
 * The numbering is explained in orders.py; what it follows from is in orders.json, which both read.
 */

const {moves: MOVES, targets: TARGETS, slots: SLOTS, places: PLACES, team: TEAM} = require('./orders.json');

const COLUMNS = TARGETS.length;
const MOVE_CODES = 2 * COLUMNS; // without and with the gimmick
const FIRST_SWITCH = MOVES * MOVE_CODES;
const PASS = FIRST_SWITCH + PLACES;
const SLOT_CODES = PASS + 1;
const ORDERS = SLOT_CODES * SLOT_CODES;
const TARGET_WORDS = TARGETS.map((target) => (target ? ` ${target}` : ''));
const NO_TARGET = TARGETS.indexOf(0); // column
const FOE_COLUMNS = [1, 2].map((target) => TARGETS.indexOf(target));

const PREVIEWS = []; // places from 0: two leads, two behind them
for (let a = 0; a < TEAM; a++) for (let b = a + 1; b < TEAM; b++) for (let c = 0; c < TEAM; c++) for (let d = c + 1; d < TEAM; d++) {
	if (new Set([a, b, c, d]).size === PLACES) PREVIEWS.push([a, b, c, d]);
}
const previewText = (places) => `team ${places.map((place) => place + 1).join('')}`;
const ACTIONS = ORDERS + PREVIEWS.length;
const MASK_BYTES = Math.ceil(ACTIONS / 8);

const ownColumn = (slot) => 1 - slot; // place -1 is slot a, -2 is slot b

function isFainted(entry) {
	return !entry || entry.condition.endsWith(' fnt');
}

/** The word of the gimmick a slot may use now, or nothing. */
function gimmickOf(active) {
	if (!active) return '';
	if (active.canTerastallize) return 'terastallize';
	return active.canMegaEvo ? 'mega' : '';
}

/** The columns a move may be aimed at: what its target type and the living allow. */
function aims(target, slot, living) {
	const partner = ownColumn(1 - slot);
	const foes = FOE_COLUMNS.filter((_, place) => living.foes[place]);
	const mate = living.partner ? [partner] : [];
	switch (target) {
	case 'normal':
	case 'any': {
		const found = [...mate, ...foes];
		return found.length ? found : [FOE_COLUMNS[0]];
	}
	case 'adjacentFoe':
		return foes.length ? foes : [FOE_COLUMNS[0]];
	case 'adjacentAlly':
		return [partner]; // stays selectable without a partner
	case 'adjacentAllyOrSelf':
		return [ownColumn(slot), ...mate].sort();
	default:
		return [NO_TARGET];
	}
}

function turnCodes(request, slot, foes) {
	const team = request.side.pokemon;
	const active = request.active[slot];
	if (!active || isFainted(team[slot]) || team[slot].commanding) return [PASS];
	const living = {foes, partner: !isFainted(team[1 - slot])};
	const gimmick = gimmickOf(active);
	const codes = [];
	active.moves.forEach((move, place) => {
		if (move.disabled || place >= MOVES) return;
		for (const column of aims(move.target, slot, living)) {
			codes.push(MOVE_CODES * place + column);
			if (gimmick) codes.push(MOVE_CODES * place + COLUMNS + column);
		}
	});
	if (!active.trapped) {
		for (let place = 2; place < Math.min(PLACES, team.length); place++) {
			if (!isFainted(team[place])) codes.push(FIRST_SWITCH + place);
		}
	}
	return codes.length ? codes : [PASS];
}

function pairs(first, second) {
	const found = [];
	for (const a of first) {
		for (const b of second) {
			if (a === b && a >= FIRST_SWITCH) continue; // one Pokémon twice, or two passes
			if (isGimmick(a) && isGimmick(b)) continue;
			found.push(SLOT_CODES * a + b);
		}
	}
	return found.length ? found : [SLOT_CODES * PASS + PASS];
}

const isGimmick = (code) => code < FIRST_SWITCH && code % MOVE_CODES >= COLUMNS;

function switchOrders(request) {
	const team = request.side.pokemon;
	const forced = request.forceSwitch;
	const bench = [];
	for (let place = 2; place < Math.min(PLACES, team.length); place++) {
		if (!isFainted(team[place])) bench.push(FIRST_SWITCH + place);
	}
	const codes = [0, 1].map((slot) => {
		if (!forced[slot]) return [PASS];
		if (team[slot].reviving) {
			return team.slice(0, PLACES).flatMap((entry, place) => (isFainted(entry) ? [FIRST_SWITCH + place] : []));
		}
		return bench.length ? bench : [PASS];
	});
	// With one left for two places either slot may get it; who does not passes.
	const short = forced[0] && forced[1] && bench.length === 1 && !team[0].reviving && !team[1].reviving;
	return short ? [SLOT_CODES * bench[0] + PASS, SLOT_CODES * PASS + bench[0]] : pairs(codes[0], codes[1]);
}

/** The legal actions of a request; `foes` says which of the opponent's active places hold a living Pokémon. */
function legalActions(request, foes) {
	if (request.teamPreview) {
		const size = request.side.pokemon.length;
		return PREVIEWS.flatMap((places, number) => (places.every((place) => place < size) ? [ORDERS + number] : []));
	}
	if (request.forceSwitch) return switchOrders(request);
	return pairs(turnCodes(request, 0, foes), turnCodes(request, 1, foes));
}

function slotText(code, gimmick) {
	if (code === PASS) return 'pass';
	if (code >= FIRST_SWITCH) return `switch ${code - FIRST_SWITCH + 1}`;
	const word = isGimmick(code) ? ` ${gimmick || 'terastallize'}` : '';
	return `move ${Math.floor(code / MOVE_CODES) + 1}${TARGET_WORDS[code % COLUMNS]}${word}`;
}

/** The choice string of an action, as an answer to a request. */
function choiceText(action, request) {
	if (action >= ORDERS) return previewText(PREVIEWS[action - ORDERS]);
	const words = [0, 1].map((slot) => gimmickOf(request && request.active && request.active[slot]));
	const a = Math.floor(action / SLOT_CODES);
	return `${slotText(a, words[0])}, ${slotText(action % SLOT_CODES, words[1])}`;
}

module.exports = {
	ACTIONS, COLUMNS, FIRST_SWITCH, FOE_COLUMNS, MASK_BYTES, MOVES, MOVE_CODES, NO_TARGET, ORDERS, PASS, PLACES, PREVIEWS,
	SLOTS, SLOT_CODES, choiceText, gimmickOf, isFainted, legalActions, ownColumn,
};
