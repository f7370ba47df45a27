'use strict';
/**
 * A battle that is played somewhere else: on a server, of which one side's requests and lines arrive here.
 *
 * It offers features.js and mask.js what a live battle does, so the rows a policy sees on a server are made by the very
 * code that made those it was trained on. Everything it knows it has read; a test compares its rows with a live battle's.
 */

const {Effects} = require('./effects');
const {Tracker} = require('./tracker');
const {legalActions} = require('./mask');

const WITH_CONDITION = {switch: 4, drag: 4, '-damage': 3, '-heal': 3, '-sethp': 3}; // kind → the part that tells HP
const BRACKET = '[from]';

/** HP as everybody sees it: whole percent, rounded up, and never 100 while anything is missing. */
function publicCondition(text) {
	const [health, ...rest] = text.split(' ');
	const [now, full] = health.split('/').map(Number);
	if (!full) return text;
	const percent = Math.ceil((100 * now) / full);
	return [`${percent === 100 && now < full ? 99 : percent}/100`, ...rest].join(' ');
}

class Shadow {
	constructor(table) {
		this.table = table;
		this.dex = table.features.dex;
		this.effects = new Effects(table.toID);
		this.number = -1; // own side; requests tell
		this.pokes = [[], []];
		this.tracker = null;
		this.battle = {turn: 0, requestState: '', log: [], sides: [0, 1].map((n) => ({n, pokemon: [], active: [null, null]}))};
		this.matchups = [0, 1].map(() => new Int16Array(3 * 6 * 6));
		this.out = []; // names of the own Pokémon in both places, as the last request told; a disguise fools only opponents
		this.uses = new Map(); // name of an own Pokémon → move id → {pp, maxpp}
		this.fullHealth = new Map();
		this.row = new Int16Array(table.features.size);
		this.early = []; // lines before the teams are known
	}

	// --- lines ---

	read(lines) {
		for (const line of lines) {
			const parts = line.split('|');
			if (parts[1] === 'poke') this.pokes[parts[2][1] - 1].push(parts[3]);
			else if (!this.tracker) this.early.push(parts);
			else this.readParts(parts);
		}
	}

	readParts(parts) {
		if (parts[1] === 'showteam') this.readSheet(parts);
		if (parts[1] === 'turn') this.battle.turn = Number(parts[2]);
		const place = WITH_CONDITION[parts[1]];
		if (place && parts[place]) parts[place] = publicCondition(parts[place]);
		if (parts[1] === 'switch' || parts[1] === 'drag' || parts[1] === 'replace') this.recognise(parts);
		this.readUse(parts);
		this.effects.read(parts);
		this.tracker.read(parts);
	}

	/** `|showteam|p2|packed`: an open team sheet, in the order of the team. */
	readSheet(parts) {
		const sets = this.table.showdown.Teams.unpack(parts.slice(3).join('|')) || [];
		const {team} = this.tracker.sides[parts[2][1] - 1];
		this.tracker.openSheets = true;
		sets.forEach((set, number) => { if (team[number]) this.tracker.readSheet(team[number], set); });
	}

	/** An opponent's name is first seen when it comes out; until then it is known by its species. */
	recognise(parts) {
		const side = this.tracker.side(parts[2]);
		const name = parts[2].slice(parts[2].indexOf(': ') + 2);
		if (side.byName.has(name)) return;
		const base = this.dex.species.get(parts[3].split(', ')[0]).baseSpecies;
		const seen = side.team.find((record) => !record.revealed && this.dex.species.get(record.species).baseSpecies === base);
		if (!seen) return;
		side.byName.delete(seen.name);
		seen.name = name;
		side.byName.set(name, seen);
	}

	/** Own uses of moves, for Pokémon a request does not tell of. */
	readUse(parts) {
		const match = /^p([12])([ab]): /.exec(parts[2] || '');
		if (!match || match[1] - 1 !== this.number) return;
		const slot = 'ab'.indexOf(match[2]);
		if (parts[1] === 'swap') this.out.reverse();
		if (parts[1] === 'switch' || parts[1] === 'drag') this.out[slot] = ''; // whoever comes out acts after the next request
		const uses = this.uses.get(this.out[slot]);
		if (!uses) return;
		if (parts[1] === 'move' && !parts.some((part) => part.startsWith(BRACKET))) this.spend(uses.get(this.table.toID(parts[3])), 1 + this.pressure(parts));
		else if (parts[1] === '-activate' && parts[3] === 'item: Leppa Berry') this.spend(uses.get(this.table.toID(parts[4])), -10);
		else if (parts[1] === '-activate' && /: (Spite|Eerie Spell)$/.test(parts[3])) this.spend(uses.get(this.table.toID(parts[4])), Number(parts[5]));
	}

	spend(use, count) {
		if (use) use.pp = Math.max(0, Math.min(use.maxpp, use.pp - count));
	}

	/** How many of those a move is aimed at make it cost more. */
	pressure(parts) {
		const move = this.dex.moves.get(parts[3]);
		const opponents = this.tracker.sides[1 - this.number].active.filter((seen) => seen && !seen.fainted);
		const spread = parts.find((part) => part.startsWith('[spread] '));
		let aimed;
		if (spread) aimed = opponents.filter((seen) => spread.slice(9).split(',').some((slot) => this.tracker.side(slot).active['ab'.indexOf(slot[2])] === seen));
		else if (move.pressureTarget === 'foeSide' || move.target === 'foeSide' || move.target === 'all') aimed = opponents;
		else aimed = opponents.filter((seen) => this.tracker.find(parts[4]) === seen);
		return aimed.filter((seen) => seen.ability === 'pressure').length;
	}

	// --- requests ---

	/** The row and the legal actions of a request; one that only says to wait is looked at, too, as a live battle does. */
	ask(request) {
		this.number = Number(request.side.id[1]) - 1;
		if (!this.tracker) this.begin(request);
		if (!request.wait) this.battle.requestState = request.teamPreview ? 'teampreview' : 'move';
		this.battle.sides[this.number].pokemon = request.side.pokemon.map((entry, place) => this.ownPokemon(entry, place, request));
		for (const side of this.battle.sides) side.active = this.effects.sides[side.n];
		this.out = request.teamPreview ? [] : request.side.pokemon.slice(0, 2).map((entry) => entry.ident.slice(4));
		this.table.features.write(this.row, this, this.number, request.wait ? null : request);
		if (request.wait) return {row: this.row, legal: []};
		const foes = this.effects.sides[1 - this.number].map((place) => !place.fainted);
		return {row: this.row, legal: legalActions(request, foes)};
	}

	begin(request) {
		const known = (details, name) => {
			const [species, ...rest] = details.split(', ');
			const level = rest.find((piece) => /^L\d+$/.test(piece));
			const {baseSpecies} = this.dex.species.get(species.replace('-*', ''));
			return {name: name || baseSpecies, species: {baseSpecies}, level: level ? Number(level.slice(1)) : 100, set: {}};
		};
		const teams = this.pokes.map((pokes) => pokes.map((details) => known(details)));
		teams[this.number] = request.side.pokemon.map((entry) => known(entry.details, entry.ident.slice(4)));
		this.tracker = new Tracker({sides: teams.map((pokemon) => ({pokemon})), get turn() { return 0; }}, false, this.table.toID);
		this.tracker.battle = this.battle; // turns are read from here
		for (const parts of this.early.splice(0)) this.readParts(parts);
	}

	ownPokemon(entry, place, request) {
		const name = entry.ident.slice(4);
		const [speciesName, ...rest] = entry.details.split(', ');
		const level = rest.find((piece) => /^L\d+$/.test(piece));
		const [health, status = ''] = entry.condition.split(' ');
		const [hp, full] = health.split('/').map(Number);
		if (full) this.fullHealth.set(name, full);
		const out = place < 2 && !request.teamPreview ? this.effects.sides[this.number][place] : null;
		const species = this.dex.species.get((out && !status.includes('fnt') && out.forme) || speciesName);
		return {
			name,
			species,
			level: level ? Number(level.slice(1)) : 100,
			fainted: status === 'fnt',
			hp,
			maxhp: this.fullHealth.get(name) || 1,
			status: status === 'fnt' ? '' : status,
			item: entry.item,
			ability: entry.ability || entry.baseAbility,
			teraType: entry.teraType || '',
			terastallized: entry.terastallized || '',
			baseStoredStats: entry.stats,
			moveSlots: this.moveSlots(name, entry, request.active && request.active[place]),
		};
	}

	moveSlots(name, entry, asked) {
		if (!this.uses.has(name)) this.uses.set(name, new Map());
		const uses = this.uses.get(name);
		for (const offer of (asked && asked.moves) || []) if (offer.maxpp) uses.set(offer.id, {pp: offer.pp, maxpp: offer.maxpp});
		return entry.moves.map((id) => {
			if (!uses.has(id)) {
				const {pp, noPPBoosts} = this.dex.moves.get(id);
				const maxpp = noPPBoosts ? pp : (pp * 8) / 5;
				uses.set(id, {pp: maxpp, maxpp});
			}
			return {id, ...uses.get(id)};
		});
	}

}

module.exports = {Shadow, publicCondition};
