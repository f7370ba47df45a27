'use strict';
/**
 * The laboratory of the VGC tests: live battles of the product's own code, looked at from inside.
 *
 * stdin: JSON {package, node, settings, jobs: [{job, …}]}; stdout: JSON, one answer per job. Whatever is asserted, is
 * asserted in Python.
 */

const crypto = require('crypto');
const fs = require('fs');

const input = JSON.parse(fs.readFileSync(0, 'utf8'));
const {Worker} = require(`${input.node}/worker.js`);
const {LiveBattle, rngOf} = require(`${input.node}/battles.js`);
const {legalActions, choiceText, ORDERS} = require(`${input.node}/mask.js`);
const worker = new Worker(input.package, () => {});
worker.configure(input.settings);
const {Teams} = worker.table.showdown;

// --- probing: every order is offered to the simulator, and everything it changed is put back ---

function save(side) {
	return {
		request: JSON.stringify(side.activeRequest),
		cantUndo: side.choice.cantUndo,
		pokemon: side.pokemon.map((p) => [p, p.maybeTrapped, p.maybeDisabled, p.maybeLocked, p.switchFlag, p.trapped]),
	};
}

function putBack(side, saved) {
	side.activeRequest = JSON.parse(saved.request);
	for (const [p, maybeTrapped, maybeDisabled, maybeLocked, switchFlag, trapped] of saved.pokemon) {
		Object.assign(p, {maybeTrapped, maybeDisabled, maybeLocked, switchFlag, trapped});
	}
	side.choice.cantUndo = false;
	side.clearChoice();
}

function probe(live, number) {
	const side = live.battle.sides[number];
	const legal = new Set(live.legal[number]);
	const saved = save(side);
	const found = {legal: legal.size, accepted: 0, refused: [], hidden: 0, unmasked: []};
	const hinted = /"maybe(Trapped|Disabled|Locked)":true/.test(saved.request);
	for (let order = 0; order < ORDERS; order++) {
		const text = choiceText(order, side.activeRequest);
		const taken = side.choose(text) && side.isChoiceDone();
		const updated = !!(side.activeRequest && side.activeRequest.update);
		putBack(side, saved);
		if (taken) {
			found.accepted++;
			if (!legal.has(order)) found.unmasked.push(text);
		} else if (legal.has(order)) {
			if (updated && hinted) found.hidden++;
			else found.refused.push(text);
		}
	}
	return found;
}

function begin(scene) {
	const teams = scene.teams.map((team) => Teams.import(team));
	worker.drop(0);
	const live = new LiveBattle(worker.table, 1, scene.seed || 7, teams);
	worker.battles.set(0, live);
	live.settle();
	return live;
}

const number = (live, side, text) => live.legal[side].find((action) => choiceText(action, live.battle.sides[side].activeRequest) === text);

/** Plays [own, opponent] choice strings; null where a side has nothing to say. */
function play(live, texts) {
	const refused = [];
	texts.forEach((text, side) => {
		if (text === null) return;
		const action = number(live, side, text);
		if (action === undefined) throw new Error(`'${text}' is not legal for side ${side}: ${labels(live, side).join(' | ')}`);
		live.choose(side, action);
		if (live.lastRefused[side]) refused.push(side);
	});
	live.settle();
	return refused;
}

function labels(live, side) {
	const request = live.battle.sides[side].activeRequest;
	return live.acts(side) ? live.legal[side].map((action) => choiceText(action, request)) : [];
}

const TWEAKS = {
	/** One more use of the second move, then none of any. */
	empty: (live, {side, place}) => { live.battle.sides[side].pokemon[place].moveSlots.forEach((slot, at) => { slot.pp = at === 1 ? 1 : 0; }); },
	faint: (live, {side, place}) => {
		const pokemon = live.battle.sides[side].pokemon[place];
		Object.assign(pokemon, {hp: 0, fainted: true, status: 'fnt'});
		pokemon.side.pokemonLeft--;
	},
	health: (live, {side, place, hp}) => { live.battle.sides[side].pokemon[place].hp = hp; },
};

function named(live, side) {
	const row = live.rows[side];
	const at = worker.table.features.at;
	const table = worker.table.features.vocabulary.table;
	return {
		species: Array.from(row.slice(at.species, at.species + 12), (id) => table.species[id]),
		items: Array.from(row.slice(at.item, at.item + 12), (id) => table.items[id]),
		abilities: Array.from(row.slice(at.ability, at.ability + 12), (id) => table.abilities[id]),
		moves: Array.from({length: 12}, (_, place) => [1, 2, 3, 4].map((k) => table.moves[row[at[`move_${k}_id`] + place]]).filter(Boolean)),
		types: Array.from(row.slice(at.type_1, at.type_1 + 12), (id) => table.types[id]),
		teras: Array.from(row.slice(at.tera_type, at.tera_type + 12), (id) => table.types[id]),
		row: crypto.createHash('sha256').update(Buffer.from(row.buffer, row.byteOffset, row.byteLength)).digest('hex'),
	};
}

/** The lines of a log as the player of a side gets them. */
function channel(log, from, side) {
	const found = [];
	for (let at = from; at < log.length; at++) {
		const split = /^\|split\|p(\d)$/.exec(log[at]);
		if (split) {
			found.push(log[at + (Number(split[1]) - 1 === side ? 1 : 2)]);
			at += 2;
		} else found.push(log[at]);
	}
	return found;
}

const JOBS = {
	/** Random states; each is probed. */
	states: ({count, seed}) => {
		const rng = rngOf(seed, 5);
		const found = [];
		for (let game = 0; found.length < count; game++) {
			const live = worker.begin(0, seed, game, rng(worker.teams.length), rng(worker.teams.length));
			while (!live.ended && found.length < count) {
				for (const side of [0, 1]) {
					if (!live.acts(side)) continue;
					if (live.battle.requestState !== 'teampreview' && rng(4) === 0) found.push(probe(live, side));
					for (let tries = 0; live.acts(side) && tries < 20; tries++) { live.choose(side, live.legal[side][rng(live.legal[side].length)]); if (live.lastRefused[side]) live.look(); }
				}
				live.settle();
			}
		}
		return found;
	},
	/** A described battle, and what may be done at its end. */
	scene: (scene) => {
		const live = begin(scene);
		const refused = [];
		for (const step of scene.plays) {
			if (Array.isArray(step)) refused.push(play(live, step));
			else TWEAKS[step.tweak](live, step);
		}
		return {
			refused,
			ended: live.ended,
			legal: [0, 1].map((side) => labels(live, side)),
			requests: live.battle.sides.map((side) => side.activeRequest),
			probes: [0, 1].map((side) => (live.acts(side) && live.battle.requestState !== 'teampreview' ? probe(live, side) : null)),
			rows: [0, 1].map((side) => named(live, side)),
			shown: [0, 1].map((side) => (live.acts(side) ? {row: Array.from(live.rows[side]), mask: live.legal[side]} : null)),
			events: live.refused,
			turn: live.battle.turn,
		};
	},
	/** The mask of a request written by hand. */
	request: ({request, foes}) => legalActions(request, foes).map((action) => choiceText(action, request)),
	/** Digests of the logs of seeded random battles. */
	logs: ({count, seed}) => Array.from({length: count}, (_, game) => {
		const rng = rngOf(seed, game);
		const live = worker.begin(0, seed, game, rng(worker.teams.length), rng(worker.teams.length));
		while (!live.ended) {
			for (const side of [0, 1]) for (let tries = 0; live.acts(side) && tries < 20; tries++) { live.choose(side, live.legal[side][rng(live.legal[side].length)]); if (live.lastRefused[side]) live.look(); }
			live.settle();
		}
		return crypto.createHash('sha256').update(live.battle.log.filter((line) => !line.startsWith('|t:|')).join('\n')).digest('hex');
	}),
	/** Rows before and after changes to what side 0 cannot know, by name, at several moments of a battle. */
	hidden: ({seed, moments}) => {
		const changes = {
			stats: (live) => { for (const p of live.battle.sides[1].pokemon) { p.set.evs = {...p.set.evs, atk: 7, spe: 3}; p.set.nature = 'Brave'; p.storedStats.atk += 40; p.baseStoredStats.spe += 25; p.speed += 25; } },
			exact_hp: (live) => { for (const p of live.battle.sides[1].pokemon) { const shown = p.getHealth().shared; const hp = p.hp; p.hp = Math.max(1, hp - 1); if (p.fainted || p.getHealth().shared !== shown) p.hp = hp; } },
			unseen: (live) => { const {pokemon} = live.battle.sides[1]; if (live.battle.turn) [pokemon[2], pokemon[3]] = [pokemon[3], pokemon[2]]; },
			dice: (live) => { live.battle.prng.random(); },
			sleep: (live) => { for (const side of live.battle.sides) for (const p of side.pokemon) if (p.statusState.time) p.statusState.time++; },
			choice: (live) => { if (live.acts(1)) live.battle.sides[1].choose(choiceText(live.legal[1][0], live.battle.sides[1].activeRequest)); },
		};
		const rng = rngOf(seed, 9);
		const found = Object.fromEntries(Object.keys(changes).map((name) => [name, 0]));
		let looked = 0;
		let control = 0;
		for (let game = 0; looked < moments; game++) {
			const live = worker.begin(0, seed, game, rng(worker.teams.length), rng(worker.teams.length));
			while (!live.ended && looked < moments) {
				if (live.acts(0)) {
					looked++;
					const before = named(live, 0).row;
					for (const [name, change] of Object.entries(changes)) {
						change(live);
						live.look();
						if (named(live, 0).row !== before) found[name]++;
					}
					// A control: what everybody sees must show.
					const opponent = live.battle.sides[1].active.find((p) => p && !p.fainted);
					if (live.battle.turn && opponent) {
						opponent.boosts.atk += 1;
						live.look();
						if (named(live, 0).row !== before) control++;
						opponent.boosts.atk -= 1;
						live.look();
					} else control++;
				}
				for (const side of [0, 1]) for (let tries = 0; live.acts(side) && tries < 20; tries++) { live.choose(side, live.legal[side][rng(live.legal[side].length)]); if (live.lastRefused[side]) live.look(); }
				live.settle();
			}
		}
		return {changed: found, looked, control};
	},
	/** Rows read from one side's requests and lines, beside those of the live battle: where they differ, by field. */
	shadow: ({count, seed}) => {
		const {Shadow} = require(`${input.node}/shadow.js`);
		const rng = rngOf(seed, 11);
		const found = {rows: 0, wrong: [], masks: 0};
		const {at} = worker.table.features;
		const fields = Object.entries(at).sort((a, b) => a[1] - b[1]);
		for (let game = 0; game < count; game++) {
			const live = worker.begin(0, seed, game, rng(worker.teams.length), rng(worker.teams.length));
			const shadows = [0, 1].map(() => new Shadow(worker.table));
			const read = [0, 0];
			while (!live.ended) {
				for (const side of [0, 1]) {
					for (let tries = 0; live.acts(side) && tries < 20; tries++) {
						const lines = channel(live.battle.log, read[side], side);
						read[side] = live.battle.log.length;
						shadows[side].read(lines);
						const {row, legal} = shadows[side].ask(JSON.parse(JSON.stringify(live.battle.sides[side].activeRequest)));
						found.rows++;
						if (legal.join() !== live.legal[side].join()) found.masks++;
						for (let place = 0; place < row.length; place++) {
							if (row[place] === live.rows[side][place]) continue;
							const [field, start] = fields.filter(([, offset]) => offset <= place).pop();
							const names = input.settings.layout.columns[/^move_\d$/.test(field) ? 'move' : field];
							const width = names ? names.length : 1;
							found.wrong.push([game, live.battle.turn, side, field, Math.floor((place - start) / width), names ? names[(place - start) % width] : '', live.rows[side][place], row[place]]);
						}
						live.choose(side, live.legal[side][rng(live.legal[side].length)]);
						if (live.lastRefused[side]) live.look();
					}
				}
				live.settle();
				for (const side of [0, 1]) {
					const {activeRequest} = live.battle.sides[side];
					if (live.ended || !activeRequest || !activeRequest.wait) continue;
					shadows[side].read(channel(live.battle.log, read[side], side));
					read[side] = live.battle.log.length;
					shadows[side].ask(JSON.parse(JSON.stringify(activeRequest)));
				}
			}
		}
		return found;
	},
	/** Random battles, their public logs read back: is what was chosen among the labels of every decision? */
	spectate: ({count, seed, player: name}) => {
		const {decisions} = require(`${input.node}/spectator.js`);
		const {player} = require(`${input.node}/players.js`);
		const {readLog} = require(`${input.node}/questions.js`);
		const choose = name ? player(name, input.settings.layout) : (row, legal, rng) => legal[rng(legal.length)];
		const rng = rngOf(seed, 13);
		const found = {made: 0, read: 0, sure: 0, wrong: [], unread: 0, unexplained: 0, columns: {}, compared: 0, results: 0};
		const slotWords = (code, places, moves) => {
			if (code >= 40) return code < 44 ? `to ${places[code - 40]}` : 'pass';
			return `${(moves || [])[Math.floor(code / 10)]} ${code % 10}`;
		};
		const readable = (action, places, moves) => (action >= ORDERS ? `preview ${action}` : [Math.floor(action / 45), action % 45].map((code, slot) => slotWords(code, places, moves[slot])).join(' + '));
		for (let game = 0; game < count; game++) {
			const live = worker.begin(0, seed, game, rng(worker.teams.length), rng(worker.teams.length));
			const made = [];
			while (!live.ended) {
				for (const side of [0, 1]) {
					for (let tries = 0; live.acts(side) && tries < 20; tries++) {
						const {activeRequest} = live.battle.sides[side];
						const places = activeRequest.side.pokemon.map((entry) => entry.ident.slice(4));
						const action = choose(live.rows[side], live.legal[side], rng);
						const moment = {side, turn: live.battle.turn, words: readable(action, places, (activeRequest.active || []).map(({moves}) => moves.map((move) => move.id))), legal: live.legal[side].length, row: Array.from(live.rows[side])};
						live.choose(side, action);
						if (live.lastRefused[side]) live.look();
						else if (moment.legal > 1) made.push(moment);
					}
				}
				live.settle();
			}
			const log = readLog(live.battle.log);
			const told = decisions(worker.table, log.join('\n'));
			found.made += made.length;
			found.read += told.decisions.length;
			found.unexplained += told.unexplained;
			found.results += told.results.join() === [0, 1].map((side) => live.counters(side)[0]).join() ? 1 : 0;
			for (const side of [0, 1]) {
				const mine = made.filter((moment) => moment.side === side);
				for (const one of told.decisions.filter((decision) => decision.side === side)) {
					const words = one.labels.map((action) => readable(action, one.places, one.moves));
					// Decisions of one turn (orders, then replacements) come in the same order; others may be missing.
					const at = mine.findIndex((moment) => moment.turn === one.turn && words.includes(moment.words));
					if (at < 0) found.wrong.push([game, one.turn, side, words.slice(0, 4), mine.filter((moment) => moment.turn === one.turn).map((moment) => moment.words)]);
					else {
						if (words.length === 1) found.sure++;
						const [moment] = mine.splice(at, 1);
						found.compared++;
						moment.row.forEach((value, place) => { if (value !== one.row[place]) { const [field] = Object.entries(worker.table.features.at).filter(([, offset]) => offset <= place).sort((a, b) => b[1] - a[1])[0]; found.columns[field] = (found.columns[field] || 0) + 1; } });
					}
				}
				found.unread += mine.length;
			}
		}
		return found;
	},
	vocabulary: () => {
		const {build} = require(`${input.node}/vocabulary.js`);
		return build(worker.table.showdown, require(`${input.package}/package.json`).version);
	},
};

process.stdout.write(JSON.stringify(input.jobs.map((job) => JOBS[job.job](job))));
