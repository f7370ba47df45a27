'use strict';
/**
 * Makes legal teams: `node teams.js <package> <format> <count> <seed>` prints packed teams, one per line.
 *
 * Species, abilities and moves come from the simulator's own pools for random doubles; items are dealt from a list so
 * that no two are alike; what its validator refuses is drawn again. Move slots favour attacks and Protect, so that teams
 * play like teams.
 */

const ITEMS = [
	'Life Orb', 'Leftovers', 'Sitrus Berry', 'Focus Sash', 'Assault Vest', 'Choice Scarf', 'Choice Specs', 'Choice Band',
	'Safety Goggles', 'Rocky Helmet', 'Clear Amulet', 'Covert Cloak', 'Lum Berry', 'Expert Belt', 'Mental Herb',
	'Weakness Policy', 'Eject Button', 'Shell Bell',
];
const ATTACKS_ONLY = new Set(['Assault Vest', 'Choice Scarf', 'Choice Specs', 'Choice Band']);
const ATTACK_OF = {'Choice Band': 'atk', 'Choice Specs': 'spa'};
const EXCLUDED = new Set(['Ditto']); // becomes somebody else at once: nothing to learn from its sheet

class TeamMaker {
	constructor(showdown, folder, format, seed) {
		this.showdown = showdown;
		this.dex = showdown.Dex.mod(showdown.Dex.formats.get(format).mod || 'gen9');
		this.validator = showdown.TeamValidator.get(format);
		this.prng = new showdown.PRNG([seed >>> 16, seed & 0xffff, 4711, 815]);
		this.pool = require(`${folder}/dist/data/random-battles/gen9/doubles-sets.json`);
		// By species first: one with five formes must not turn up five times as often.
		this.formes = new Map();
		for (const id of Object.keys(this.pool).filter((name) => this.mayTry(name)).sort()) {
			const base = this.dex.species.get(id).baseSpecies;
			this.formes.set(base, [...(this.formes.get(base) || []), id]);
		}
		this.species = [...this.formes.keys()];
	}

	mayTry(id) {
		const species = this.dex.species.get(id);
		return species.exists && !EXCLUDED.has(species.name);
	}

	pick(list) {
		return list[this.prng.random(list.length)];
	}

	shuffled(list) {
		const copy = [...list];
		for (let last = copy.length - 1; last > 0; last--) {
			const other = this.prng.random(last + 1);
			[copy[last], copy[other]] = [copy[other], copy[last]];
		}
		return copy;
	}

	set(id, item) {
		const species = this.dex.species.get(id);
		const source = this.pick(this.pool[id].sets);
		const moves = this.moves(source.movepool, ATTACKS_ONLY.has(item));
		if (moves.length < 4) return null;
		const physical = moves.filter((move) => this.dex.moves.get(move).category === 'Physical').length;
		const special = moves.filter((move) => this.dex.moves.get(move).category === 'Special').length;
		const attack = physical > special ? 'atk' : 'spa';
		if ((ATTACK_OF[item] || attack) !== attack) return null;
		const fast = species.baseStats.spe >= 80;
		const natures = {atkspe: 'Jolly', atkhp: 'Adamant', spaspe: 'Timid', spahp: 'Modest'};
		const evs = {hp: 0, atk: 0, def: 0, spa: 0, spd: 0, spe: 0, [attack]: 252};
		evs[fast ? 'spe' : 'hp'] = 252;
		evs[fast ? 'hp' : 'spd'] = 4;
		return {
			name: species.baseSpecies, species: species.name, item, ability: this.pick(source.abilities), moves,
			nature: natures[attack + (fast ? 'spe' : 'hp')], evs, ivs: {hp: 31, atk: 31, def: 31, spa: 31, spd: 31, spe: 31},
			level: 50, teraType: this.pick(source.teraTypes), gender: '',
		};
	}

	moves(pool, attacksOnly) {
		const attacks = this.shuffled(pool.filter((move) => this.dex.moves.get(move).category !== 'Status'));
		const others = attacksOnly ? [] : this.shuffled(pool.filter((move) => this.dex.moves.get(move).category === 'Status'));
		const guarded = others.some((move) => this.dex.moves.get(move).stallingMove);
		if (!attacksOnly && !guarded) others.splice(1, 0, 'Protect');
		const wanted = Math.max(1, Math.min(attacks.length, 4 - Math.min(2, others.length)));
		return [...attacks.slice(0, wanted), ...others].concat(attacks.slice(wanted)).slice(0, 4);
	}

	team() {
		for (;;) {
			const team = [];
			const items = this.shuffled(ITEMS);
			for (let tries = 0; team.length < 6 && tries < 200; tries++) {
				const set = this.set(this.pick(this.formes.get(this.pick(this.species))), items[team.length]);
				if (!set || team.some((mate) => mate.name === set.name)) continue;
				if (!this.validator.validateSet(structuredClone(set), {})) team.push(set);
			}
			if (team.length === 6 && !this.validator.validateTeam(structuredClone(team))) return this.showdown.Teams.pack(team);
		}
	}
}

function main([folder, format, count, seed]) {
	const maker = new TeamMaker(require(folder), folder, format, Number(seed));
	const found = new Set();
	while (found.size < Number(count)) found.add(maker.team());
	for (const team of found) process.stdout.write(`${team}\n`);
}

if (require.main === module) main(process.argv.slice(2));
