'use strict';
/**
 * Which orders a request allows: exactly those the simulator would take, less the pointless ones (aims at the fainted).
 * The numbering is orders.py's: 45 codes per slot, 45 * a + b for a pair, previews behind the 2,025 orders.
 */

const FIRST_SWITCH = 40;
const PASS = 44;
const SLOT_CODES = 45;
const ORDERS = SLOT_CODES * SLOT_CODES;
const TARGET_WORDS = [' -2', ' -1', '', ' 1', ' 2'];
const NO_TARGET = 2; // column
const FOE_COLUMNS = [3, 4];

const PREVIEWS = [];
for (let a = 1; a <= 6; a++) for (let b = 1; b <= 6; b++) for (let c = 1; c <= 6; c++) for (let d = 1; d <= 6; d++) {
	if (a < b && c < d && new Set([a, b, c, d]).size === 4) PREVIEWS.push(`team ${a}${b}${c}${d}`);
}
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
		if (move.disabled || place > 3) return;
		for (const column of aims(move.target, slot, living)) {
			codes.push(10 * place + column);
			if (gimmick) codes.push(10 * place + 5 + column);
		}
	});
	if (!active.trapped) {
		for (let place = 2; place < Math.min(4, team.length); place++) {
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

const isGimmick = (code) => code < FIRST_SWITCH && code % 10 >= 5;

function switchOrders(request) {
	const team = request.side.pokemon;
	const forced = request.forceSwitch;
	const bench = [];
	for (let place = 2; place < Math.min(4, team.length); place++) {
		if (!isFainted(team[place])) bench.push(FIRST_SWITCH + place);
	}
	const codes = [0, 1].map((slot) => {
		if (!forced[slot]) return [PASS];
		if (team[slot].reviving) {
			return team.slice(0, 4).flatMap((entry, place) => (isFainted(entry) ? [FIRST_SWITCH + place] : []));
		}
		return bench.length ? bench : [PASS];
	});
	// With one left for two places either slot may get it; who does not passes.
	const short = forced[0] && forced[1] && bench.length === 1 && !team[0].reviving && !team[1].reviving;
	return short ? [SLOT_CODES * bench[0] + PASS, SLOT_CODES * PASS + bench[0]] : pairs(codes[0], codes[1]);
}

/** The legal actions of a request; `foes` says which of the rival's active places hold a living Pokémon. */
function legalActions(request, foes) {
	if (request.teamPreview) {
		const size = request.side.pokemon.length;
		return PREVIEWS.flatMap((text, number) => ([...text.slice(5)].every((digit) => Number(digit) <= size) ? [ORDERS + number] : []));
	}
	if (request.forceSwitch) return switchOrders(request);
	return pairs(turnCodes(request, 0, foes), turnCodes(request, 1, foes));
}

function slotText(code, gimmick) {
	if (code === PASS) return 'pass';
	if (code >= FIRST_SWITCH) return `switch ${code - FIRST_SWITCH + 1}`;
	const word = code % 10 >= 5 ? ` ${gimmick || 'terastallize'}` : '';
	return `move ${Math.floor(code / 10) + 1}${TARGET_WORDS[code % 5]}${word}`;
}

/** The choice string of an action, as an answer to a request. */
function choiceText(action, request) {
	if (action >= ORDERS) return PREVIEWS[action - ORDERS];
	const words = [0, 1].map((slot) => gimmickOf(request && request.active && request.active[slot]));
	const a = Math.floor(action / SLOT_CODES);
	return `${slotText(a, words[0])}, ${slotText(action % SLOT_CODES, words[1])}`;
}

module.exports = {ACTIONS, FIRST_SWITCH, MASK_BYTES, ORDERS, PASS, SLOT_CODES, choiceText, gimmickOf, isFainted, legalActions};
