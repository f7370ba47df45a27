'use strict';
/**
 * The names behind every id of an observation. `node vocabulary.js <package>` prints the table from the simulator's own
 * data; the product ships that print (tables/vocabulary.json), so that ids mean the same with or without Node at hand.
 */

const KINDS_LEFT_OUT = new Set(['CAP', 'Custom', 'LGPE', 'Gigantamax']);

function wanted(entry) {
	return entry.exists && entry.num > 0 && !KINDS_LEFT_OUT.has(entry.isNonstandard);
}

/** Every list starts with what is not there or not known; of items the second entry is a hand known to be empty. */
function build(showdown, version) {
	const dex = showdown.Dex.forGen(9);
	const names = (entries) => entries.map((entry) => entry.name).sort();
	return {
		package: 'pokemon-showdown',
		version,
		species: ['', ...names(dex.species.all().filter(wanted))],
		moves: ['', ...names(dex.moves.all().filter((move) => wanted(move) && !move.isZ && !move.isMax)), 'Recharge'],
		abilities: ['', ...names(dex.abilities.all().filter(wanted))],
		items: ['', 'none', ...names(dex.items.all().filter((item) => wanted(item) && !item.zMove))],
		types: ['', ...names(dex.types.all())],
		statuses: ['', 'brn', 'par', 'slp', 'frz', 'psn', 'tox', 'fnt'],
		weathers: ['', 'RainDance', 'SunnyDay', 'Sandstorm', 'Snowscape', 'DesolateLand', 'PrimordialSea', 'DeltaStream'],
		terrains: ['', 'Electric Terrain', 'Grassy Terrain', 'Misty Terrain', 'Psychic Terrain'],
		categories: ['', 'Physical', 'Special', 'Status'],
		targets: [
			'', 'normal', 'any', 'adjacentFoe', 'adjacentAlly', 'adjacentAllyOrSelf', 'self', 'allAdjacent',
			'allAdjacentFoes', 'all', 'allySide', 'foeSide', 'allies', 'allyTeam', 'randomNormal', 'scripted',
		],
	};
}

/** Lookup tables: id text → number, for every list. */
class Vocabulary {
	constructor(table, toID) {
		this.table = table;
		this.toID = toID;
		this.maps = {};
		for (const [kind, names] of Object.entries(table)) {
			if (Array.isArray(names)) this.maps[kind] = new Map(names.map((name, number) => [toID(name), number]));
		}
		for (const kind of ['moves', 'abilities', 'items']) this[kind] = this.maps[kind]; // asked for by id
		for (const kind of ['types', 'targets']) this[kind] = new Map(table[kind].map((name, number) => [name, number]));
	}

	/** The number of a name or id; 0 for what the table does not know. */
	number(kind, text) {
		return this.maps[kind].get(this.toID(text)) ?? 0;
	}
}

module.exports = {Vocabulary, build};

if (require.main === module) {
	const folder = process.argv[2];
	const table = build(require(folder), require(`${folder}/package.json`).version);
	process.stdout.write(`${JSON.stringify(table, null, 0).replaceAll('],"', '],\n"')}\n`);
}
