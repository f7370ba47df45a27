'use strict';
/**
 * One live battle: starts, takes actions, lets heuristic players answer, and tells the state of both sides as rows.
 *
 * A scripted side decides only when every other side has: it sees its own row, never the choice of the other.
 */

const {Tracker} = require('./tracker');
const {PLACES, choiceText, legalActions} = require('./mask');
const {redraw, redrawRng} = require('./hidden');

const NAMES = ['one', 'two'];
const MOST_REFUSALS = 20; // of one request; every refusal takes something off its mask

const COUNTERS = ['result', 'own_fainted', 'foe_fainted', 'own_hp', 'foe_hp', 'own_statuses', 'foe_statuses', 'turn', 'decisions', 'refused'];

/** 64 bits of seed (two unsigned halves) → the simulator's four words. */
function battleSeed(high, low) {
	return [high >>> 16, high & 0xffff, low >>> 16, low & 0xffff];
}

/** Small generator for heuristic players and re-dealing: mulberry32. */
function rngOf(high, low) {
	let state = (Math.imul(high, 0x9e3779b1) ^ low ^ 0x5bf03635) >>> 0;
	return (below) => {
		state = (state + 0x6d2b79f5) >>> 0;
		let word = Math.imul(state ^ (state >>> 15), state | 1);
		word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
		return Math.floor((((word ^ (word >>> 14)) >>> 0) / 4294967296) * below);
	};
}

class LiveBattle {
	/** `table` holds what all battles of a worker share: simulator, format, features, players of the sides. */
	constructor(table, high, low, teams) {
		this.table = table;
		this.rng = rngOf(high, low);
		this.battle = new table.showdown.Battle({formatid: table.format, seed: battleSeed(high, low), send: () => {}});
		teams.forEach((team, number) => this.battle.setPlayer(`p${number + 1}`, {name: NAMES[number], team}));
		if (table.openSheets) this.battle.showOpenTeamSheets();
		this.tracker = new Tracker(this.battle, table.openSheets, table.toID);
		this.tracker.update();
		this.matchups = [0, 1].map(() => new Int16Array(3 * 6 * 6)); // see features.js
		this.decisions = [0, 0];
		this.refused = [0, 0];
		this.lastRefused = [false, false];
		this.legal = [null, null];
		this.rows = [0, 1].map(() => new Int16Array(table.features.size));
		this.look();
	}

	get ended() {
		return this.battle.ended;
	}

	/** Whether a side has something to decide now. */
	acts(number) {
		const side = this.battle.sides[number];
		return !this.battle.ended && !!side.requestState && !side.isChoiceDone();
	}

	livingFoes(number) {
		return this.battle.sides[1 - number].active.map((pokemon) => !!pokemon && !pokemon.fainted);
	}

	/** Brings rows and legal actions of every side that somebody looks at up to date. */
	look() {
		for (let number = 0; number < 2; number++) {
			const acting = this.acts(number);
			if (!acting && this.table.players[number]) continue; // a script has nothing to say
			const request = this.battle.sides[number].activeRequest;
			this.table.features.write(this.rows[number], this, number, acting ? request : null);
			this.legal[number] = acting ? legalActions(request, this.livingFoes(number)) : null;
		}
	}

	/** Gives an action of a side to the simulator (then `settle`); a refusal by hidden trapping leaves the side to choose again. */
	choose(number, action) {
		const side = this.battle.sides[number];
		const text = choiceText(action, side.activeRequest);
		this.lastRefused[number] = false;
		if (side.choose(text)) {
			this.decisions[number]++;
			return;
		}
		if (!side.activeRequest.update) {
			throw new Error(`The simulator refused '${text}' of ${side.id}: ${side.choice.error}`);
		}
		this.lastRefused[number] = true;
		this.refused[number]++;
		side.clearChoice();
	}

	/** Goes on as far as possible: until a side without a script must decide, or the battle is over. */
	settle() {
		while (!this.battle.ended) {
			const waiting = [0, 1].filter((number) => this.acts(number));
			if (waiting.some((number) => !this.table.players[number])) break;
			for (const number of waiting) this.answer(number);
			if (this.battle.allChoicesDone()) {
				this.battle.commitChoices();
				this.tracker.update();
				this.look();
			}
		}
		// Who was refused sees more than before; who has chosen meanwhile waits.
		if (this.battle.ended || this.lastRefused[0] || this.lastRefused[1]) this.look();
	}

	/** A scripted side decides, as often as it is asked again. */
	answer(number) {
		for (let attempt = 0; attempt < MOST_REFUSALS && this.acts(number); attempt++) {
			if (attempt) this.look();
			this.choose(number, this.table.players[number](this.rows[number], this.legal[number], this.rng));
		}
	}

	redraw(sides, high, low) {
		const {showdown, internals} = this.table;
		const rng = rngOf(high, low);
		this.rng = rngOf(low, high);
		if (sides.length === 1) redraw(this, sides[0], rng, battleSeed(high, low), internals.Pokemon, showdown.PRNG);
		else redrawRng(this, rng, battleSeed(high, low), showdown.PRNG);
		this.look();
	}

	/** Raw figures for rewards and statistics of a side, from what is public. */
	counters(number) {
		const [own, foe] = [number, 1 - number].map((side) => {
			const team = this.tracker.sides[side].team;
			const brought = Math.min(PLACES, team.length);
			const lost = team.reduce((sum, seen) => sum + (100 - seen.hp), 0);
			return {
				fainted: team.filter((seen) => seen.fainted).length,
				hp: Math.max(0, 100 * brought - lost),
				statuses: team.filter((seen) => seen.status && !seen.fainted).length,
			};
		});
		const {winner} = this.battle;
		const result = !this.battle.ended || !winner ? 0 : winner === NAMES[number] ? 1 : -1;
		return [
			result, own.fainted, foe.fainted, own.hp, foe.hp, own.statuses, foe.statuses, this.battle.turn,
			this.decisions[number], this.refused[number],
		];
	}

	destroy() {
		this.battle.destroy();
	}
}

module.exports = {COUNTERS, LiveBattle, battleSeed, rngOf};
