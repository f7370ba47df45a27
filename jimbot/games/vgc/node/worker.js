'use strict';
/**
 * A simulator process: many live battles, driven by frames on stdin, answering with frames on stdout (see wire.js).
 *
 * Usage: node worker.js <folder of pokemon-showdown>. The first frame configures it. It ends when stdin does, so it
 * cannot outlive the process that started it.
 */

const crypto = require('crypto');
const fs = require('fs');
const {COUNTERS, LiveBattle} = require('./battles');
const {Features, phaseOf} = require('./features');
const {MASK_BYTES} = require('./mask');
const {player} = require('./players');
const {Vocabulary} = require('./vocabulary');
const {answer} = require('./questions');
const wire = require('./wire');

const {FLAGS, KINDS} = wire;
const PHASE_NUMBERS = {preview: 0, turn: 1, force_switch: 2, waiting: 3};

class Worker {
	constructor(folder, send) {
		this.folder = folder;
		this.send = send;
		this.battles = new Map();
		this.shadows = new Map(); // battles played elsewhere, see shadow.js
		this.endedLogs = new Map(); // battle → the lines of the last one that ended in its place
	}

	/** Sets the worker up, or anew for other games; what it held is gone. */
	configure(settings) {
		for (const number of [...this.battles.keys()]) this.drop(number);
		this.endedLogs.clear();
		this.shadows.clear();
		const showdown = require(this.folder);
		const {version} = require(`${this.folder}/package.json`);
		const internals = {
			Pokemon: require(`${this.folder}/dist/sim/pokemon`).Pokemon,
			Side: require(`${this.folder}/dist/sim/side`).Side,
			ModdedDex: require(`${this.folder}/dist/sim/dex`).ModdedDex,
			DexFormats: require(`${this.folder}/dist/sim/dex-formats`).DexFormats,
			deepClone: require(`${this.folder}/dist/lib/utils`).deepClone,
		};
		if (settings.patch && !this.patched) require('./patch').apply(showdown, version, internals);
		this.patched = settings.patch;
		const format = showdown.Dex.formats.get(settings.format);
		const table = fs.readFileSync(settings.vocabulary);
		const vocabulary = new Vocabulary(JSON.parse(table), showdown.toID);
		const dex = showdown.Dex.mod(format.mod || 'gen9');
		this.table = {
			showdown,
			internals,
			toID: showdown.toID,
			format: format.id,
			openSheets: settings.open_team_sheets,
			features: new Features(dex, settings.layout, vocabulary),
			players: settings.players.map((name) => (name ? player(name, settings.layout) : null)),
			turnLimit: settings.turn_limit,
		};
		this.layout = settings.layout;
		this.teams = settings.teams.map((packed) => showdown.Teams.unpack(packed));
		this.rowBytes = wire.ROW_HEADER + 2 * COUNTERS.length + 2 * settings.layout.size + MASK_BYTES;
		return {
			protocol: wire.PROTOCOL,
			version,
			node: process.version,
			format: format.id,
			format_name: format.exists ? format.name : '',
			game_type: format.gameType || '',
			picked: format.exists ? showdown.Dex.formats.getRuleTable(format).pickedTeamSize || 0 : 0,
			row_bytes: this.rowBytes,
			mask_bytes: MASK_BYTES,
			counters: COUNTERS,
			features: settings.layout.size,
			vocabulary: crypto.createHash('sha256').update(table).digest('hex').slice(0, 16),
			teams: this.teams.length,
		};
	}

	// --- battles ---

	begin(number, high, low, first, second) {
		this.drop(number);
		// The simulator writes into the sets it is given, so each battle gets its own.
		const teams = [first, second].map((team) => structuredClone(this.teams[team]));
		const live = new LiveBattle(this.table, high, low, teams);
		this.battles.set(number, live);
		live.settle();
		return live;
	}

	drop(number) {
		const old = this.battles.get(number);
		if (old) old.destroy();
		this.battles.delete(number);
	}

	/** START: (battle u16, seed 2×u32, teams 2×u16)… */
	start(cursor) {
		const rows = [];
		while (!cursor.done) {
			const number = cursor.u16();
			this.addRows(rows, number, this.begin(number, cursor.u32(), cursor.u32(), cursor.u16(), cursor.u16()), 0);
		}
		return Buffer.concat(rows);
	}

	/** STEP: (battle u16, next seed 2×u32, next teams 2×u16, events u8, (side u8, action u16)…)… */
	step(cursor) {
		const rows = [];
		while (!cursor.done) {
			const number = cursor.u16();
			const next = [cursor.u32(), cursor.u32(), cursor.u16(), cursor.u16()];
			const events = Array.from({length: cursor.u8()}, () => [cursor.u8(), cursor.u16()]);
			let live = this.battles.get(number);
			const over = this.advance(live, events);
			if (over) {
				this.addRows(rows, number, live, over);
				this.endedLogs.set(number, live.battle.log);
				live = this.begin(number, ...next);
			}
			this.addRows(rows, number, live, 0);
		}
		return Buffer.concat(rows);
	}

	/** Plays the events of one step; the flags of its end, or 0. */
	advance(live, events) {
		try {
			for (const [side, action] of events) live.choose(side, action);
			live.settle();
		} catch (problem) {
			process.stderr.write(`A battle was given up: ${problem.stack}\n`);
			return FLAGS.ENDED | FLAGS.ABORTED;
		}
		if (live.ended) return FLAGS.ENDED;
		return live.battle.turn > this.table.turnLimit ? FLAGS.ENDED | FLAGS.ABORTED : 0;
	}

	/**
	 * RESTORE: (battle u16, seed 2×u32, teams 2×u16, events u16, (side u8, value 2×u32)…)…
	 * A side of 0 or 1 plays an action; 2, 3 and 4 re-deal what is hidden from side 0, side 1 or both.
	 */
	restore(cursor) {
		const rows = [];
		while (!cursor.done) {
			const number = cursor.u16();
			const live = this.begin(number, cursor.u32(), cursor.u32(), cursor.u16(), cursor.u16());
			for (let count = cursor.u16(); count > 0; count--) {
				const [side, high, low] = [cursor.u8(), cursor.u32(), cursor.u32()];
				if (side >= 2) live.redraw(side === 4 ? [0, 1] : [side - 2], high, low);
				else {
					live.choose(side, low);
					live.settle();
				}
			}
			this.addRows(rows, number, live, 0);
		}
		return Buffer.concat(rows);
	}

	/** REDRAW: (battle u16, what u8 as in RESTORE, seed 2×u32)… */
	redraw(cursor) {
		const rows = [];
		while (!cursor.done) {
			const number = cursor.u16();
			const what = cursor.u8();
			const live = this.battles.get(number);
			live.redraw(what === 4 ? [0, 1] : [what - 2], cursor.u32(), cursor.u32());
			this.addRows(rows, number, live, 0);
		}
		return Buffer.concat(rows);
	}

	addRows(rows, number, live, ended) {
		for (let side = 0; side < 2; side++) {
			if (this.table.players[side]) continue;
			const acting = live.acts(side);
			const row = Buffer.alloc(this.rowBytes);
			row.writeUInt16LE(number, 0);
			row.writeUInt8(side, 2);
			row.writeUInt8(PHASE_NUMBERS[acting ? phaseOf(live.battle.sides[side].activeRequest) : 'waiting'], 3);
			row.writeUInt8((acting ? FLAGS.ACTING : 0) | (live.lastRefused[side] ? FLAGS.REFUSED : 0) | ended, 4);
			let at = wire.ROW_HEADER;
			for (const value of live.counters(side)) at = row.writeInt16LE(value, at);
			const features = live.rows[side];
			row.set(new Uint8Array(features.buffer, features.byteOffset, features.byteLength), at);
			at += features.byteLength;
			for (const action of (acting && live.legal[side]) || [0]) row[at + (action >> 3)] |= 128 >> (action & 7);
			rows.push(row);
		}
	}

	// --- frames ---

	handle(kind, ticket, payload) {
		const cursor = new wire.Cursor(payload);
		switch (kind) {
		case KINDS.CONFIGURE:
			return this.send(KINDS.HELLO, ticket, wire.json(this.configure(JSON.parse(payload))));
		case KINDS.START:
			return this.send(KINDS.ROWS, ticket, this.start(cursor));
		case KINDS.STEP:
			return this.send(KINDS.ROWS, ticket, this.step(cursor));
		case KINDS.RESTORE:
			return this.send(KINDS.ROWS, ticket, this.restore(cursor));
		case KINDS.REDRAW:
			return this.send(KINDS.ROWS, ticket, this.redraw(cursor));
		case KINDS.ASK:
			return this.send(KINDS.ANSWER, ticket, wire.json(answer(this, JSON.parse(payload))));
		default:
			throw new Error(`Frame kind ${kind} is unknown.`);
		}
	}
}

function main(folder) {
	const worker = new Worker(folder, (kind, ticket, payload) => process.stdout.write(wire.frame(kind, ticket, payload)));
	const reader = new wire.FrameReader((kind, ticket, payload) => {
		try {
			worker.handle(kind, ticket, payload);
		} catch (problem) {
			process.stderr.write(`${problem.stack}\n`);
			worker.send(KINDS.FAILED, ticket, wire.json({error: String(problem.message)}));
		}
	});
	process.stdin.on('data', (chunk) => reader.push(chunk));
	process.stdin.on('end', () => process.exit(0));
	process.stdout.on('error', () => process.exit(0));
}

if (require.main === module) main(process.argv[2]);

module.exports = {Worker};
