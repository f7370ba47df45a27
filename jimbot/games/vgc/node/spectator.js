'use strict';
/**
 * Public logs of battles read back into decisions: what each side saw when it decided, and which orders agree with what
 * everybody saw it do.
 *
 * A spectator never sees what a Pokémon was told that fainted or slept before it could act, nor where a move was aimed
 * that was drawn elsewhere. So a decision has a set of labels: every legal order that would have looked the same. Stats
 * are not public; those of the species stand in for them, as they do for opponents. Own moves a sheet does not show are taken
 * from the whole log: the player knew them.
 */

const {Shadow} = require('./shadow');
const {typicalStats} = require('./damage');
const {
	COLUMNS, FIRST_SWITCH, FOE_COLUMNS, MOVES, MOVE_CODES, ORDERS, PASS, PLACES, PREVIEWS, SLOTS, SLOT_CODES, ownColumn,
} = require('./mask');

const AIMED = new Set(['normal', 'any', 'adjacentFoe', 'adjacentAlly', 'adjacentAllyOrSelf']);
const REDIRECTS = new Set(['followme', 'ragepowder', 'spotlight']);
const CHOICE_ITEMS = new Set(['choiceband', 'choicespecs', 'choicescarf']);

/** `p2b: Name` → {side, slot, name}; null where a part names no place. */
function place(ident) {
	const match = /^p([12])([ab])?: (.*)$/.exec(ident || '');
	return match ? {side: match[1] - 1, slot: match[2] ? 'ab'.indexOf(match[2]) : -1, name: match[3]} : null;
}

/** One side of a log: a shadow whose requests are made from what is public. */
class PublicSide {
	constructor(table, number, log) {
		this.table = table;
		this.dex = table.features.dex;
		this.number = number;
		this.log = log;
		this.shadow = new Shadow(table);
		this.shadow.number = number;
		this.order = []; // names as a request would list them
		this.lastSwitch = [null, null];
		this.begun = false;
		this.settled = new Set(); // lines of replacements that belong to a decision already told
	}

	get seen() {
		return this.shadow.tracker.sides[this.number];
	}

	read(parts) {
		const who = place(parts[2]);
		if (who && who.side === this.number && this.begun) {
			if (parts[1] === 'switch' || parts[1] === 'drag') this.exchange(who.slot, who.name);
			if (parts[1] === 'swap') this.order.splice(0, 2, this.order[1], this.order[0]);
			if (parts[1] === 'replace') {
				const back = this.lastSwitch[who.slot];
				if (back !== null) [this.order[who.slot], this.order[back]] = [this.order[back], this.order[who.slot]];
				this.exchange(who.slot, who.name);
			}
		}
		this.shadow.read([parts.join('|')]);
	}

	exchange(slot, name) {
		const from = this.order.indexOf(name);
		this.lastSwitch[slot] = from < 0 ? null : from;
		if (from >= 0) [this.order[slot], this.order[from]] = [this.order[from], this.order[slot]];
	}

	/** The preview is known: who was brought, as far as the log ever shows it. */
	begin(brought) {
		this.begun = true;
		this.order = brought.slice();
	}

	entry(seen, name) {
		const stats = typicalStats(this.dex.species.get(seen.species), seen.level);
		const hp = seen.fainted ? 0 : Math.max(1, Math.round((seen.hp * stats.hp) / 100));
		const slot = this.order.indexOf(name);
		const out = this.begun && slot >= 0 && slot < SLOTS ? this.shadow.effects.sides[this.number][slot] : null;
		return {
			ident: `p${this.number + 1}: ${name}`,
			details: `${seen.species}, L${seen.level}`,
			condition: seen.fainted ? '0 fnt' : `${hp}/${stats.hp}${seen.status ? ` ${seen.status}` : ''}`,
			active: !!out,
			stats: {atk: stats.atk, def: stats.def, spa: stats.spa, spd: stats.spd, spe: stats.spe},
			moves: this.movesOf(seen),
			baseAbility: seen.ability,
			ability: seen.ability,
			item: seen.item === 'none' ? '' : seen.item,
			commanding: !!(out && out.volatiles.commanding),
			reviving: false,
			teraType: this.teraOf(seen),
			terastallized: seen.terastallized && !seen.fainted ? seen.teraType : '',
		};
	}

	/** As its player knew it: from the sheet, or from the moment it was seen, which may be later. */
	teraOf(seen) {
		return seen.teraType || this.log.teras[this.number].get(seen.name) || '';
	}

	typesOf(seen) {
		if (seen.terastallized) return [this.dex.types.get(seen.teraType).name];
		return seen.types || this.dex.species.get(seen.species).types;
	}

	movesOf(seen) {
		const known = this.log.sheets[this.number] ? seen.moves : this.log.moves[this.number].get(seen.name) || [];
		return known.slice(0, MOVES);
	}

	/** What one place may do, as a request says it. */
	active(slot) {
		const name = this.order[slot];
		const seen = this.seen.byName.get(name);
		const out = this.shadow.effects.sides[this.number][slot];
		if (!seen) return {moves: []};
		if (out.volatiles.mustrecharge) return {moves: [{id: 'recharge'}], trapped: true};
		if (out.volatiles.twoturnmove && seen.lastMove) return {moves: [{id: seen.lastMove}], trapped: true};
		const uses = this.shadow.uses.get(name) || new Map();
		const held = seen.lastMove && (CHOICE_ITEMS.has(seen.item) || out.volatiles.encore) ? seen.lastMove : '';
		const quiet = seen.item === 'assaultvest' || !!out.volatiles.taunt;
		const moves = this.movesOf(seen).map((id) => {
			const move = this.dex.moves.get(id);
			const {pp = 1, maxpp = 1} = uses.get(id) || {};
			// Curse asks only ghosts for a target.
			const target = move.nonGhostTarget && !this.typesOf(seen).includes('Ghost') ? move.nonGhostTarget : move.target;
			return {id, pp, maxpp, target, disabled: (!!held && held !== id) || (quiet && move.category === 'Status')};
		});
		if (moves.every((move) => move.disabled)) for (const move of moves) move.disabled = false;
		return {moves, ...(this.seen.gimmickUsed ? {} : {canTerastallize: this.teraOf(seen) || 'unknown'})};
	}

	mayHide(slot) {
		const seen = this.seen.byName.get(this.order[slot]);
		const {fainted, volatiles} = this.shadow.effects.sides[this.number][slot];
		return !!seen && !fainted && !volatiles.commanding && this.movesOf(seen).length < MOVES && !this.log.sheets[this.number];
	}

	request(kind, forced) {
		const names = kind === 'preview' ? this.seen.team.map((seen) => seen.name) : this.order;
		const side = {id: `p${this.number + 1}`, pokemon: names.map((name) => this.entry(this.seen.byName.get(name), name))};
		if (kind === 'preview') return {teamPreview: true, side};
		if (kind === 'force_switch') return {forceSwitch: forced, side};
		return {active: [0, 1].map((slot) => this.active(slot)), side};
	}
}

// --- what a stretch of lines tells about the orders it came from ---

/** Everything seen of both sides between two decisions, by the place each acted from. */
function watch(stretch, toID) {
	const found = [0, 1].map(() => [0, 1].map(() => ({kind: '', gimmick: false})));
	const where = [[0, 1], [0, 1]]; // where a place of now was when the turn began
	const fainted = [new Set(), new Set()];
	const drawn = [false, false];
	const encored = [[false, false], [false, false]]; // it does again what it did, whatever it was told
	let moving = false;
	for (const parts of stretch) {
		const who = place(parts[2]);
		if (parts[1] === 'upkeep') break;
		if (!who || who.slot < 0) continue;
		const slot = where[who.side][who.slot];
		const act = found[who.side][slot];
		const called = parts.some((part) => part.startsWith('[from]') && !/lockedmove/.test(part));
		if (parts[1] === 'switch' && !moving && !called && !act.kind) Object.assign(act, {kind: 'switch', name: who.name});
		else if (parts[1] === '-terastallize') act.gimmick = true;
		else if (parts[1] === 'swap') {
			where[who.side].reverse();
			drawn[0] = drawn[1] = true;
		} else if (parts[1] === 'faint') fainted[who.side].add(slot);
		else if (parts[1] === '-start' && parts[3] === 'Encore') encored[who.side][slot] = true;
		else if (parts[1] === '-singleturn' && REDIRECTS.has(toID((parts[3] || '').replace('move: ', '')))) drawn[who.side] = true;
		else if (parts[1] === '-activate' && /Lightning Rod|Storm Drain/.test(parts[3] || '')) drawn[who.side] = true;
		else if (parts[1] === 'move' || parts[1] === 'cant') {
			moving = true;
			if (called || act.kind) continue;
			const id = encored[who.side][slot] ? '' : toID(parts[1] === 'move' ? parts[3] : parts[4] || '');
			const target = parts[1] === 'move' ? place(parts[4]) : null;
			Object.assign(act, {kind: 'move', id, target, lost: parts.includes('[notarget]'), fainted: fainted.map((set) => new Set(set)), drawn: drawn.slice()});
		}
	}
	return found;
}

/** The aims that would have looked like this. */
function columnsOf(act, side) {
	const {target} = act;
	if (!target || act.lost || target.slot < 0) return null;
	const opponent = target.side !== side;
	if (opponent) {
		const columns = new Set([FOE_COLUMNS[target.slot]]);
		if (act.drawn[target.side]) return new Set(FOE_COLUMNS);
		for (const gone of act.fainted[target.side]) columns.add(FOE_COLUMNS[gone]); // it may have been aimed at those who fell first
		for (const gone of act.fainted[side]) columns.add(ownColumn(gone));
		return columns;
	}
	return act.drawn[side] ? null : new Set([ownColumn(target.slot)]);
}

/** The codes of a place that agree with what was seen; null where everything does. */
function codesOf(act, side, slot, request, order) {
	const moves = request.active[slot].moves;
	if (act.kind === 'switch') return new Set([FIRST_SWITCH + order.indexOf(act.name)]);
	const number = act.kind === 'move' && act.id ? moves.findIndex((move) => move.id === act.id) : -1;
	const columns = number >= 0 && AIMED.has(moves[number].target) ? columnsOf(act, side) : null;
	const codes = new Set();
	for (let code = 0; code < FIRST_SWITCH; code++) {
		if (number >= 0 && Math.floor(code / MOVE_CODES) !== number) continue;
		if (code % MOVE_CODES >= COLUMNS !== act.gimmick) continue;
		if (columns && !columns.has(code % COLUMNS)) continue;
		codes.add(code);
	}
	codes.add(PASS); // the mask says whether it must
	return codes;
}

function previewLabels(team, brought, legal) {
	const places = brought.map((name) => team.findIndex((seen) => seen.name === name));
	const leads = places.slice(0, SLOTS).sort().join();
	const behind = places.slice(SLOTS);
	return legal.filter((action) => {
		const [a, b, c, d] = PREVIEWS[action - ORDERS];
		return [a, b].join() === leads && behind.every((number) => number === c || number === d);
	});
}

/** First reading: teams, sheets, who was brought, which moves were ever seen. */
function survey(lines, toID) {
	const log = {sheets: [false, false], brought: [[], []], moves: [new Map(), new Map()], teras: [new Map(), new Map()], entrances: [[], []], winner: null, names: ['', ''], over: false, turns: 0, gametype: '', gen: 0};
	for (const parts of lines) {
		const who = place(parts[2]);
		if (parts[1] === 'gametype') log.gametype = parts[2];
		else if (parts[1] === 'gen') log.gen = Number(parts[2]);
		else if (parts[1] === 'player' && parts[3]) log.names[parts[2][1] - 1] = parts[3];
		else if (parts[1] === 'showteam') log.sheets[parts[2][1] - 1] = true;
		else if (parts[1] === 'turn') log.turns = Number(parts[2]);
		else if (parts[1] === '-terastallize' && who) log.teras[who.side].set(who.name, toID(parts[3]));
		else if (parts[1] === 'win') Object.assign(log, {winner: parts[2], over: true});
		else if (parts[1] === 'tie') log.over = true;
		else if (['switch', 'drag', 'replace'].includes(parts[1]) && who && !log.brought[who.side].includes(who.name)) {
			log.brought[who.side].push(who.name);
			log.entrances[who.side].push(parts);
		}
		else if (parts[1] === 'move' && who && !parts.some((part) => part.startsWith('[from]'))) {
			const known = log.moves[who.side];
			if (!known.has(who.name)) known.set(who.name, []);
			const id = toID(parts[3]);
			if (id !== 'struggle' && !known.get(who.name).includes(id)) known.get(who.name).push(id);
		}
	}
	return log;
}

/**
 * All decisions of a log in the order they were made, and how it ended: {side, turn, row, legal, labels, places (who stood
 * where), moves (of both slots)}. `unexplained` counts those no legal order agrees with; they are left out.
 */
function decisions(table, text) {
	const lines = text.split('\n').map((line) => line.split('|'));
	const log = survey(lines, table.toID);
	if (log.gametype !== 'doubles' || log.gen !== 9) throw new Error(`It is a ${log.gametype || 'nameless'} battle of generation ${log.gen || '?'}; expected doubles of generation 9.`);
	if (log.brought.some((names) => names.length < SLOTS)) throw new Error('It ended before anybody came out.');
	const sides = [0, 1].map((number) => new PublicSide(table, number, log));
	const found = [];
	let unexplained = 0;
	const keep = (side, request, labelled) => {
		const {row, legal} = sides[side].shadow.ask(request);
		const labels = labelled(legal);
		if (legal.length < 2) return; // nothing was decided
		if (!labels.length) unexplained++;
		else found.push({side, turn: sides[side].shadow.battle.turn, row: Array.from(row), legal, labels, places: request.side.pokemon.map((entry) => entry.ident.slice(4)), moves: (request.active || []).map(({moves}) => moves.map((move) => move.id))});
	};
	let [previewed, started] = [false, false];
	for (let at = 0; at < lines.length; at++) {
		const parts = lines[at];
		if (!previewed && parts[1] === 'switch') {
			previewed = true;
			preview(sides, log, keep);
		}
		if (parts[1] === 'switch' && started) forcedSwitches(lines, at, sides, keep);
		for (const side of sides) side.read(parts);
		if (parts[1] === 'turn') {
			started = true;
			turnOrders(lines, at, sides, keep, table);
		}
	}
	return {decisions: found, unexplained, ...outcome(sides, log)};
}

function preview(sides, log, keep) {
	for (const side of sides) {
		const names = log.brought[side.number].slice(0, PLACES);
		side.shadow.begin({side: {pokemon: side.shadow.pokes[side.number].map((details) => ({details, ident: `p0: ${side.dex.species.get(details.split(', ')[0].replace('-*', '')).baseSpecies}`}))}});
		// Names are shown when Pokémon come out; the team is listed by them from the start.
		for (const parts of log.entrances[side.number]) side.shadow.recognise(parts);
		const known = names.filter((name) => side.seen.byName.has(name));
		const behind = known.slice(SLOTS).sort((a, b) => side.seen.byName.get(a).number - side.seen.byName.get(b).number);
		const brought = [...known.slice(0, SLOTS), ...behind];
		keep(side.number, side.request('preview'), (legal) => previewLabels(side.seen.team, brought, legal));
		side.begin(brought);
	}
}

function turnOrders(lines, at, sides, keep, table) {
	let end = at + 1;
	while (end < lines.length && lines[end][1] !== 'turn') end++;
	const acts = watch(lines.slice(at + 1, end), table.toID);
	for (const side of sides) {
		const request = side.request('turn');
		const order = side.order.slice();
		// What a Pokémon was told that never came to act, and whose moves are not all known, may be in no label.
		const hidden = [0, 1].some((slot) => !acts[side.number][slot].id && acts[side.number][slot].kind !== 'switch' && side.mayHide(slot));
		const codes = [0, 1].map((slot) => codesOf(acts[side.number][slot], side.number, slot, request, order));
		keep(side.number, request, (legal) => (hidden ? [] : legal.filter((action) => codes[0].has(Math.floor(action / SLOT_CODES)) && codes[1].has(action % SLOT_CODES))));
	}
}

/** Replacements: after `upkeep`, or in the middle of a turn by a move or an item. Chosen switches come before any move. */
function forcedSwitches(lines, at, sides, keep) {
	let back = at - 1;
	while (back >= 0 && !['turn', 'move', 'cant', 'upkeep', 'faint'].includes(lines[back][1])) back--;
	const chosen = back < 0 || lines[back][1] === 'turn';
	const who = place(lines[at][2]);
	const side = sides[who.side];
	if (chosen || side.settled.has(at)) return;
	const group = []; // this side's replacements that were asked for at once
	for (let next = at; next < lines.length && !['turn', 'faint', 'move', 'cant', 'win', 'tie'].includes(lines[next][1]); next++) {
		const other = lines[next][1] === 'switch' ? place(lines[next][2]) : null;
		if (!other || other.side !== who.side) continue;
		group.push(other);
		side.settled.add(next);
	}
	const places = side.shadow.effects.sides[who.side];
	const forced = [0, 1].map((slot) => group.some((one) => one.slot === slot) || places[slot].fainted);
	const order = side.order.slice();
	const wanted = [0, 1].map((slot) => {
		const one = group.find((switched) => switched.slot === slot);
		return one ? FIRST_SWITCH + order.indexOf(one.name) : PASS;
	});
	keep(who.side, side.request('force_switch', forced), (legal) => legal.filter((action) => action === SLOT_CODES * wanted[0] + wanted[1]));
}

function outcome(sides, log) {
	const lost = sides.map((side) => side.shadow.tracker.sides[side.number].team.filter((seen) => seen.fainted).length);
	const results = log.names.map((name) => (!log.winner ? 0 : log.winner === name ? 1 : -1));
	return {results, over: log.over, turns: log.turns, fainted: lost};
}

module.exports = {decisions};
