'use strict';
/**
 * Foresight: what the scripted heuristic would order in the rival's place, and what that would do to us.
 *
 * It reads our own row with the sides exchanged, so it knows what we know: a rival's training stays a guess, who waits
 * behind stays unknown. Switches and gimmicks are not foreseen. Where the heuristic itself sits there, four of five
 * orders of a Pokémon come as foreseen.
 */

const {COLUMNS, MOVES, MOVE_CODES, PASS, SLOT_CODES, aims, pairs} = require('./mask');
const {Reader, aimOf, decide} = require('./players');

const SIDE_ROWS = 6;
const MOST_HARM = 250; // percent of the HP that is left
const CHOICE = /^choice(band|scarf|specs)$/;

const across = (place) => (place + SIDE_ROWS) % (2 * SIDE_ROWS);
const exchanged = {matchup: 'matchup_threat', matchup_threat: 'matchup'};

/** A row as the rival would read it. */
class AcrossReader extends Reader {
	pokemon(row, place, name) {
		return super.pokemon(row, across(place), name);
	}

	move(row, place, move, name) {
		return super.move(row, across(place), move, name);
	}

	moveId(row, place, move, what) {
		return super.moveId(row, across(place), move, what);
	}

	/** Nobody told us what a rival's hit would do to its own partner. */
	damage(row, slot, move, target) {
		return target < 2 ? super.threat(row, slot, move, target) : 0;
	}

	threat(row, rival, move, slot) {
		return super.damage(row, rival, move, slot);
	}

	outspeeds(row, slot, rival) {
		return -super.outspeeds(row, rival, slot);
	}

	side(row, place, name) {
		return super.side(row, 1 - place, name);
	}

	match(row, name, place, rival) {
		return super.match(row, exchanged[name], rival, place);
	}

	status(row, place) {
		return super.status(row, across(place));
	}

	teraType(row, place) {
		return super.teraType(row, across(place));
	}

	mustSwitch() {
		return 0;
	}
}

/** The moves of a Pokémon that may come, by their places: one that holds a choice item repeats itself. */
function possibleMoves(view) {
	const places = view.moves.slice(0, MOVES).map((_, place) => place);
	const last = view.moves.findIndex((move) => move.id === view.record.lastMove);
	return CHOICE.test(view.item) && last >= 0 && last < MOVES ? [last] : places;
}

class Foresight {
	/** `targetOf` tells what a move by its id aims at. */
	constructor(layout, targetOf) {
		this.reader = new AcrossReader(layout);
		this.at = layout.offsets.foresight;
		this.columns = Object.fromEntries(layout.columns.foresight.map((name, place) => [name, place]));
		this.targetOf = targetOf;
	}

	/** Completes a row of which all else is written. */
	write(row, mine, theirs) {
		const foes = mine.map(Boolean);
		const codes = theirs.map((view, slot) => this.codes(view, slot, {foes, partner: !!theirs[1 - slot]}));
		const order = decide('heuristic', this.reader, row, pairs(codes[0], codes[1]));
		[Math.floor(order / SLOT_CODES), order % SLOT_CODES].forEach((code, slot) => {
			if (theirs[slot] && code !== PASS) this.writeOrder(row, slot, code, foes);
		});
	}

	codes(view, slot, living) {
		const moves = view ? possibleMoves(view) : [];
		const codes = moves.flatMap((place) => aims(this.targetOf(view.moves[place].id), slot, living).map((column) => MOVE_CODES * place + column));
		return codes.length ? codes : [PASS];
	}

	writeOrder(row, slot, code, foes) {
		const {reader, columns} = this;
		const base = this.at + slot * Object.keys(columns).length;
		const move = Math.floor(code / MOVE_CODES);
		const aim = aimOf(slot, code % COLUMNS);
		row[base + columns[`move_${move + 1}`]] = 1;
		row[base + columns.protects] = reader.move(row, slot, move, 'protects');
		['a', 'b'].forEach((name, place) => {
			const meant = aim === place || (aim < 0 && reader.move(row, slot, move, 'spread'));
			if (!meant || !foes[place]) return;
			row[base + columns[`on_${name}`]] = 1;
			const left = Math.max(1, reader.hp(row, SIDE_ROWS + place));
			row[base + columns[`harm_${name}`]] = Math.min(MOST_HARM, Math.round((100 * reader.damage(row, slot, move, place)) / left));
		});
	}
}

module.exports = {Foresight};
