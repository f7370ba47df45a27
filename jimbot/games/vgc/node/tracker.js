'use strict';
/**
 * What everybody at the table has seen, read from the public lines of the battle's log and from nothing else.
 *
 * A Pokémon is known by the name it shows: under Illusion that is the name of its disguise, so the disguise is what
 * gets the damage and the moves until the log says otherwise.
 */

const NOTHING = 'none';

class Seen {
	constructor(name, species, number) {
		this.name = name;
		this.number = number; // its place on the team sheet
		this.species = species;
		this.level = 50;
		this.revealed = false;
		this.hp = 100; // percent
		this.status = '';
		this.fainted = false;
		this.moves = []; // ids, in the order of the sheet or as they were seen
		this.used = new Set();
		this.item = ''; // '' not known, 'none' known to hold nothing
		this.itemLost = false;
		this.ability = '';
		this.teraType = '';
		this.terastallized = false;
		this.sleepTurns = 0;
		this.before = null; // how it was when it last came out
		this.leave();
	}

	/** What ends when it leaves the field. */
	leave() {
		this.lastMove = '';
		this.transformed = false;
		this.toxicTurns = 0;
		this.types = null; // where a move or ability changed them
	}
}

class Tracker {
	constructor(battle, openSheets, toID) {
		this.battle = battle;
		this.openSheets = openSheets;
		this.toID = toID;
		this.line = 0;
		this.turn = 0;
		this.weather = {id: '', since: 0};
		this.terrain = {id: '', since: 0};
		this.rooms = new Map(); // id → turn it began
		this.sides = battle.sides.map((side) => this.watch(side));
	}

	watch(side) {
		const team = side.pokemon.map((pokemon, number) => {
			const seen = new Seen(pokemon.name, pokemon.species.baseSpecies, number);
			seen.level = pokemon.level;
			if (this.openSheets) this.readSheet(seen, pokemon.set);
			return seen;
		});
		return {
			team, byName: new Map(team.map((seen) => [seen.name, seen])), active: [null, null],
			conditions: new Map(), layers: new Map(), gimmickUsed: false,
		};
	}

	readSheet(seen, set) {
		seen.species = set.species;
		seen.moves = set.moves.map(this.toID);
		seen.item = this.toID(set.item) || NOTHING;
		seen.ability = this.toID(set.ability);
		seen.teraType = this.toID(set.teraType || '');
	}

	/** Reads the lines that were written since the last call. */
	update() {
		const log = this.battle.log;
		while (this.line < log.length) {
			let line = log[this.line++];
			if (line.startsWith('|split|')) { // the secret version comes first, then the one for everybody
				line = log[this.line + 1];
				this.line += 2;
			}
			if (line) this.read(line.split('|'));
		}
	}

	read(parts) {
		const handler = HANDLERS[parts[1]];
		if (handler) handler(this, parts);
		const from = parts.find((part) => part.startsWith('[from] '));
		if (from) this.readCause(from.slice(7), parts);
	}

	/** `[from] ability: X` and `[from] item: X` show what somebody has, where that was not known. */
	readCause(cause, parts) {
		const [kind, name] = cause.split(': ');
		if (!name || (kind !== 'ability' && kind !== 'item') || parts[1] === '-ability') return;
		const seen = this.find(this.owner(name, parts));
		if (!seen) return;
		if (kind === 'ability' && !seen.ability) seen.ability = this.toID(name);
		if (kind === 'item' && !seen.item) seen.item = this.toID(name);
	}

	/** Whose ability or item a line tells of: the one after `[of]`, unless that is the one it was used on. */
	owner(name, parts) {
		const of = parts.find((part) => part.startsWith('[of] '));
		const usedOn = parts[1] === '-heal' ? name !== 'Hospitality' : name === 'Magician' || name === 'Pickpocket';
		return of && !usedOn ? of.slice(5) : parts[2];
	}

	side(ident) {
		return this.sides[ident.startsWith('p1') ? 0 : 1];
	}

	/** The record of `p2a: Name`; null where a line names no Pokémon. */
	find(ident) {
		const colon = ident ? ident.indexOf(': ') : -1;
		if (colon < 2) return null;
		return this.side(ident).byName.get(ident.slice(colon + 2)) || null;
	}

	enter(parts) {
		const side = this.side(parts[2]);
		const slot = parts[2].charCodeAt(2) - 97; // p1a → 0
		const seen = this.find(parts[2]);
		if (side.active[slot]) side.active[slot].leave();
		if (!seen) return;
		side.active[slot] = seen;
		seen.leave();
		seen.before = {hp: seen.hp, status: seen.status, fainted: seen.fainted};
		seen.revealed = true;
		this.readDetails(seen, parts[3]);
		if (parts[4]) this.readCondition(seen, parts[4]);
	}

	readDetails(seen, details) {
		const pieces = details.split(', ');
		seen.species = pieces[0];
		const level = pieces.find((piece) => /^L\d+$/.test(piece));
		seen.level = level ? Number(level.slice(1)) : 100;
	}

	/** `55/100 par`, `0 fnt` */
	readCondition(seen, text) {
		const [health, status] = text.split(' ');
		if (status === 'fnt' || health === '0') {
			this.faint(seen);
			return;
		}
		const [now, full] = health.split('/').map(Number);
		seen.hp = Math.max(1, Math.round((100 * now) / (full || 100)));
		seen.fainted = false;
		this.setStatus(seen, status || '');
	}

	setStatus(seen, status) {
		if (status !== seen.status) {
			seen.sleepTurns = 0;
			seen.toxicTurns = 0;
		}
		seen.status = status;
	}

	faint(seen) {
		seen.hp = 0;
		seen.fainted = true;
		seen.status = 'fnt';
	}

	/** Turns an effect has lasted, from 1; 0 if it is not there. */
	lasted(since) {
		return since ? this.battle.turn - since + 1 : 0;
	}
}

function effectId(tracker, text) {
	return tracker.toID(text.replace(/^(move|ability|item): /, ''));
}

function began(tracker) {
	return Math.max(1, tracker.turn);
}

const withSeen = (action) => (tracker, parts) => {
	const seen = tracker.find(parts[2]);
	if (seen) action(tracker, seen, parts);
};

const HANDLERS = {
	turn: (tracker, parts) => { tracker.turn = Number(parts[2]); },
	switch: (tracker, parts) => tracker.enter(parts),
	drag: (tracker, parts) => tracker.enter(parts),
	// The disguise falls: what was seen on its owner's back belongs to the one behind it.
	replace: (tracker, parts) => {
		const side = tracker.side(parts[2]);
		const slot = parts[2].charCodeAt(2) - 97;
		const disguise = side.active[slot];
		const seen = tracker.find(parts[2]);
		if (!seen) return;
		if (disguise && disguise !== seen) {
			seen.hp = disguise.hp;
			tracker.setStatus(seen, disguise.status);
			seen.lastMove = disguise.lastMove;
			seen.fainted = disguise.fainted;
			disguise.leave();
			Object.assign(disguise, disguise.before); // it was never there
		}
		side.active[slot] = seen;
		seen.revealed = true;
		tracker.readDetails(seen, parts[3]);
	},
	detailschange: withSeen((tracker, seen, parts) => tracker.readDetails(seen, parts[3])),
	'-formechange': withSeen((tracker, seen, parts) => { seen.species = parts[3]; }),
	swap: (tracker, parts) => {
		const side = tracker.side(parts[2]);
		side.active.reverse();
	},
	'-damage': withSeen((tracker, seen, parts) => tracker.readCondition(seen, parts[3])),
	'-heal': withSeen((tracker, seen, parts) => tracker.readCondition(seen, parts[3])),
	'-sethp': withSeen((tracker, seen, parts) => tracker.readCondition(seen, parts[3])),
	faint: withSeen((tracker, seen) => tracker.faint(seen)),
	'-status': withSeen((tracker, seen, parts) => tracker.setStatus(seen, parts[3])),
	'-curestatus': withSeen((tracker, seen) => { if (!seen.fainted) tracker.setStatus(seen, ''); }),
	'-cureteam': withSeen((tracker, seen, parts) => {
		for (const mate of tracker.side(parts[2]).team) if (!mate.fainted) tracker.setStatus(mate, '');
	}),
	cant: withSeen((tracker, seen, parts) => { if (parts[3] === 'slp') seen.sleepTurns++; }),
	move: withSeen((tracker, seen, parts) => {
		const id = tracker.toID(parts[3]);
		seen.lastMove = id;
		// A move called by another move, or of a Pokémon it turned into, is none of its own.
		if (seen.transformed || id === 'struggle' || parts.some((part) => part.startsWith('[from]'))) return;
		if (!seen.moves.includes(id) && seen.moves.length < 4) seen.moves.push(id);
		seen.used.add(id);
	}),
	'-start': withSeen((tracker, seen, parts) => {
		if (parts[3] === 'typechange' && parts[4] && !parts[4].startsWith('[')) seen.types = parts[4].split('/');
	}),
	'-transform': withSeen((tracker, seen) => { seen.transformed = true; }),
	'-ability': withSeen((tracker, seen, parts) => {
		seen.ability = tracker.toID(parts[3]);
		const traced = parts.find((part) => part.startsWith('[of] '));
		const other = traced && parts.includes('[from] ability: Trace') ? tracker.find(traced.slice(5)) : null;
		if (other) other.ability = seen.ability;
	}),
	'-endability': withSeen((tracker, seen, parts) => { if (parts[3]) seen.ability = tracker.toID(parts[3]); }),
	'-item': withSeen((tracker, seen, parts) => {
		seen.item = tracker.toID(parts[3]);
		seen.itemLost = false;
	}),
	'-enditem': withSeen((tracker, seen) => {
		seen.item = NOTHING;
		seen.itemLost = true;
	}),
	'-terastallize': withSeen((tracker, seen, parts) => {
		seen.teraType = tracker.toID(parts[3]);
		seen.terastallized = true;
		tracker.side(parts[2]).gimmickUsed = true;
	}),
	'-mega': withSeen((tracker, seen, parts) => { tracker.side(parts[2]).gimmickUsed = true; }),
	'-sidestart': (tracker, parts) => {
		const side = tracker.side(parts[2]);
		const id = effectId(tracker, parts[3]);
		side.conditions.set(id, began(tracker));
		side.layers.set(id, (side.layers.get(id) || 0) + 1);
	},
	'-sideend': (tracker, parts) => {
		const side = tracker.side(parts[2]);
		const id = effectId(tracker, parts[3]);
		side.conditions.delete(id);
		side.layers.delete(id);
	},
	'-swapsideconditions': (tracker) => {
		const [one, two] = tracker.sides;
		[one.conditions, two.conditions] = [two.conditions, one.conditions];
		[one.layers, two.layers] = [two.layers, one.layers];
	},
	'-weather': (tracker, parts) => {
		if (parts[3] === '[upkeep]') return;
		const id = tracker.toID(parts[2]);
		tracker.weather = id === 'none' ? {id: '', since: 0} : {id: id === 'snow' ? 'snowscape' : id, since: began(tracker)};
	},
	'-fieldstart': (tracker, parts) => {
		const id = effectId(tracker, parts[2]);
		if (id.endsWith('terrain')) tracker.terrain = {id, since: began(tracker)};
		else tracker.rooms.set(id, began(tracker));
	},
	'-fieldend': (tracker, parts) => {
		const id = effectId(tracker, parts[2]);
		if (id.endsWith('terrain')) tracker.terrain = {id: '', since: 0};
		else tracker.rooms.delete(id);
	},
	upkeep: (tracker) => {
		for (const side of tracker.sides) for (const seen of side.active) if (seen && seen.status === 'tox') seen.toxicTurns++;
	},
};

module.exports = {NOTHING, Tracker};
