'use strict';
/**
 * One row of integers: what the player of a side may know, and nothing else.
 *
 * A white-list in three parts: the side's own request and Pokémon, the tracker of public lines, and a few facts about
 * active Pokémon that everybody sees (boosts, the listed volatiles, turns on the field). The layout comes from fields.py.
 */

const {boosted, expectedDamage, typicalStats} = require('./damage');
const {NOTHING} = require('./tracker');
const {MOVES, gimmickOf, isFainted} = require('./mask');

const SIDE_ROWS = 6;
const PHASES = {preview: 0, turn: 1, force_switch: 2, waiting: 3};
const STATS = ['hp', 'atk', 'def', 'spa', 'spd', 'spe'];
const BOOSTS = ['atk', 'def', 'spa', 'spd', 'spe', 'accuracy', 'evasion'];
const NO_BOOSTS = Object.freeze({});
const NO_SCREENS = Object.freeze({});
const EMPTY_FIELD = Object.freeze({weather: '', terrain: '', crowded: true});
const SPEED_CONTROL = new Set(['tailwind', 'trickroom', 'icywind', 'electroweb', 'thunderwave', 'glare', 'stringshot', 'cottonspore', 'scaryface', 'bulldoze', 'rocktomb', 'stunspore', 'nuzzle']);
const REDIRECTS = new Set(['followme', 'ragepowder', 'spotlight', 'allyswitch']);

function phaseOf(request) {
	if (!request || request.wait) return 'waiting';
	if (request.teamPreview) return 'preview';
	return request.forceSwitch ? 'force_switch' : 'turn';
}

/** Who stands in the two places of a side; null where nobody does. */
function onField(views) {
	return [0, 1].map((place) => (views[place] && views[place].place === place && !views[place].fainted ? views[place] : null));
}

class Features {
	constructor(dex, layout, vocabulary) {
		this.dex = dex;
		this.vocabulary = vocabulary;
		this.size = layout.size;
		this.at = layout.offsets;
		this.columns = {};
		for (const [field, names] of Object.entries(layout.columns)) {
			this.columns[field] = Object.fromEntries(names.map((name, place) => [name, place]));
		}
		this.widths = Object.fromEntries(Object.entries(layout.columns).map(([field, names]) => [field, names.length]));
		this.volatiles = layout.volatiles.map((id) => [id, this.columns.pokemon[id]]);
		this.moveAt = Array.from({length: MOVES}, (_, place) => place + 1).map((number) => ({
			id: this.at[`move_${number}_id`], type: this.at[`move_${number}_type`], columns: this.at[`move_${number}`],
			category: this.at[`move_${number}_category`], target: this.at[`move_${number}_target`],
		}));
		this.statAt = STATS.map((stat) => [stat, this.columns.pokemon[`stat_${stat}`]]);
		this.boostAt = BOOSTS.map((stat) => [stat, this.columns.pokemon[`boost_${stat}`]]);
		this.moveFacts = new Map();
		this.speciesCache = new Map();
	}

	/** Fills `row` (Int16Array) for side `number` of a live battle; `request` is what that side was asked. */
	write(row, live, number, request) {
		row.fill(0);
		const {battle, tracker} = live;
		const phase = phaseOf(request);
		row[this.at.phase + PHASES[phase]] = 1;
		const scene = this.scene(live);
		const own = this.ownViews(live, number, request);
		const foes = this.foeViews(live, 1 - number);
		own.forEach((view, place) => this.writePokemon(row, place, view));
		foes.forEach((view, place) => this.writePokemon(row, SIDE_ROWS + place, view));
		this.writeSlots(row, request, phase);
		this.writeSide(row, 0, tracker, tracker.sides[number]);
		this.writeSide(row, 1, tracker, tracker.sides[1 - number]);
		this.writeField(row, battle, tracker);
		this.writeMatchups(row, live, number, own, foes);
		if (phase === 'preview') return;
		this.writeEstimates(row, onField(own), onField(foes), scene);
	}

	species(text) {
		let found = this.speciesCache.get(text);
		if (!found) {
			const species = this.dex.species.get(text);
			const shown = this.vocabulary.number('species', text) || this.vocabulary.number('species', species.baseSpecies);
			found = {species, shown};
			this.speciesCache.set(text, found);
		}
		return found;
	}

	scene(live) {
		const {tracker} = live;
		return {
			weather: tracker.weather.id,
			terrain: tracker.terrain.id,
			crowded: true,
		};
	}

	// --- what is known about each Pokémon, in one shape for both sides ---

	/** Own side: everything, in the order of the request. */
	ownViews(live, number, request) {
		const side = live.battle.sides[number];
		const seen = live.tracker.sides[number];
		const preview = phaseOf(request) === 'preview' || live.battle.turn === 0 && live.battle.requestState === 'teampreview';
		return side.pokemon.slice(0, SIDE_ROWS).map((pokemon, place) => {
			const active = !preview && place < 2 ? side.active[place] : null;
			const asked = request && request.active && place < 2 ? request.active[place] : null;
			const record = seen.byName.get(pokemon.name);
			return this.finish({
				own: true,
				pokemon,
				place: active ? place : -1,
				record,
				speciesName: pokemon.species.name,
				level: pokemon.level,
				fainted: pokemon.fainted,
				revealed: record.revealed,
				hp: pokemon.fainted ? 0 : Math.max(1, Math.round((1000 * pokemon.hp) / pokemon.maxhp)),
				status: pokemon.fainted ? 'fnt' : pokemon.status,
				item: pokemon.item || NOTHING,
				ability: pokemon.ability,
				teraType: pokemon.teraType || '',
				terastallized: !!pokemon.terastallized,
				stats: {...pokemon.baseStoredStats, hp: pokemon.maxhp},
				moves: this.ownMoves(pokemon, asked),
				allMoves: pokemon.moveSlots,
			}, active, seen);
		});
	}

	ownMoves(pokemon, asked) {
		const listed = asked && asked.moves.length ? asked.moves : null;
		const locked = listed && listed.length === 1 && pokemon.moveSlots.length > 1;
		if (locked) return [{id: listed[0].id, usable: !listed[0].disabled, pp: 1000, target: listed[0].target}];
		return pokemon.moveSlots.slice(0, MOVES).map((slot, place) => {
			const offer = listed ? listed[place] : null;
			return {
				id: slot.id,
				usable: offer ? !offer.disabled : slot.pp > 0,
				pp: Math.round((1000 * slot.pp) / slot.maxpp),
				target: offer ? offer.target : undefined,
			};
		});
	}

	/** The opponent: active places first, then the others in the order of the sheet. */
	foeViews(live, number) {
		const side = live.battle.sides[number];
		const seen = live.tracker.sides[number];
		const shown = seen.active.some(Boolean) ? seen.active : []; // nobody is out at team preview
		const order = [...shown, ...seen.team.filter((record) => !shown.includes(record))];
		return order.slice(0, SIDE_ROWS).map((record, place) => {
			if (!record) return null;
			const here = place < shown.length ? side.active[place] : null;
			const {species} = this.species(record.species);
			return this.finish({
				own: false,
				pokemon: here,
				place: place < shown.length ? place : -1,
				record,
				speciesName: record.species,
				level: record.level,
				fainted: record.fainted,
				revealed: record.revealed,
				hp: record.hp * 10,
				status: record.status,
				item: record.item,
				ability: record.ability,
				teraType: record.teraType,
				terastallized: record.terastallized,
				stats: typicalStats(species, record.level),
				moves: record.moves.map((id) => ({id, usable: true, pp: 1000, target: undefined})),
				allMoves: record.moves.map((id) => ({id})),
			}, here, seen);
		});
	}

	/** Adds what follows: types, boosts, what stands on the ground. */
	finish(view, active, seen) {
		const {species} = this.species(view.speciesName);
		view.ownTypes = species.types;
		view.types = species.types;
		if (view.terastallized && view.teraType && view.teraType.toLowerCase() !== 'stellar') {
			view.types = [this.dex.types.get(view.teraType).name];
		} else if (active && view.record.types) {
			view.types = view.record.types;
		}
		view.boosts = active && !active.fainted ? active.boosts : NO_BOOSTS;
		view.volatiles = active && !active.fainted ? active.volatiles : NO_BOOSTS;
		view.active = active;
		const flies = view.types.includes('Flying') || view.ability === 'levitate' || view.item === 'airballoon';
		view.grounded = !flies;
		view.screens = NO_SCREENS;
		if (active) {
			view.screens = {
				reflect: seen.conditions.has('reflect'), lightscreen: seen.conditions.has('lightscreen'),
				auroraveil: seen.conditions.has('auroraveil'),
			};
		}
		view.tailwind = seen.conditions.has('tailwind');
		return view;
	}

	// --- writing ---

	writePokemon(row, place, view) {
		if (!view) return;
		const {vocabulary, at} = this;
		row[at.species + place] = this.species(view.speciesName).shown;
		row[at.item + place] = vocabulary.items.get(view.item) ?? 0;
		row[at.ability + place] = vocabulary.abilities.get(view.ability) ?? 0;
		row[at.type_1 + place] = vocabulary.types.get(view.types[0]) ?? 0;
		row[at.type_2 + place] = vocabulary.types.get(view.types[1]) ?? 0;
		row[at.tera_type + place] = vocabulary.types.get(view.teraType) ?? vocabulary.maps.types.get(view.teraType) ?? 0;
		row[at.status + place] = vocabulary.maps.statuses.get(view.status) ?? 0;
		row[at.last_move + place] = vocabulary.moves.get(view.record.lastMove) ?? 0;
		const base = at.pokemon + place * this.widths.pokemon;
		const c = this.columns.pokemon;
		row[base + c.present] = 1;
		row[base + c.own] = view.own ? 1 : 0;
		row[base + c.active_a] = view.place === 0 ? 1 : 0;
		row[base + c.active_b] = view.place === 1 ? 1 : 0;
		row[base + c.fainted] = view.fainted ? 1 : 0;
		row[base + c.revealed] = view.revealed ? 1 : 0;
		row[base + c.terastallized] = view.terastallized ? 1 : 0;
		row[base + c.item_lost] = view.record.itemLost ? 1 : 0;
		row[base + c.hp] = view.hp;
		row[base + c.level] = view.level;
		for (const [stat, column] of this.statAt) row[base + column] = view.stats[stat];
		if (view.status === 'slp') row[base + c.sleep_turns] = view.record.sleepTurns;
		if (view.status === 'tox') row[base + c.toxic_turns] = view.record.toxicTurns;
		if (view.active && !view.active.fainted) this.writeActive(row, base, view);
		view.moves.slice(0, MOVES).forEach((move, number) => this.writeMove(row, place, number, move, view));
	}

	writeActive(row, base, view) {
		const c = this.columns.pokemon;
		for (const [stat, column] of this.boostAt) row[base + column] = view.boosts[stat];
		const {volatiles} = view;
		for (const [id, column] of this.volatiles) if (volatiles[id]) row[base + column] = 1;
		if (volatiles.stall) row[base + c.stall] = Math.round(Math.log(volatiles.stall.counter || 3) / Math.log(3));
		if (volatiles.perishsong) row[base + c.perish] = volatiles.perishsong.duration;
		row[base + c.turns_active] = Math.min(20, view.active.activeTurns);
	}

	writeMove(row, place, number, move, view) {
		const facts = this.facts(move.id);
		const at = this.moveAt[number];
		row[at.id + place] = facts.number;
		row[at.type + place] = facts.type;
		row[at.category + place] = facts.category;
		row[at.target + place] = (move.target && this.vocabulary.targets.get(move.target)) || facts.target;
		const base = at.columns + place * this.widths.move;
		row.set(facts.columns, base);
		const c = this.columns.move;
		row[base + c.usable] = move.usable ? 1 : 0;
		row[base + c.used] = view.record.used.has(move.id) ? 1 : 0;
		row[base + c.last_used] = view.record.lastMove === move.id ? 1 : 0;
		row[base + c.pp] = move.pp;
	}

	/** What never changes about a move. */
	facts(id) {
		let found = this.moveFacts.get(id);
		if (found) return found;
		const move = this.dex.moves.get(id);
		const columns = new Int16Array(this.widths.move);
		const c = this.columns.move;
		const secondaries = move.secondaries || [];
		const total = (boosts) => Object.values(boosts || {}).reduce((sum, value) => sum + value, 0);
		columns[c.known] = 1;
		columns[c.power] = Math.round((move.basePower || (move.category === 'Status' ? 0 : 60)) * (Array.isArray(move.multihit) ? 3 : move.multihit || 1));
		columns[c.accuracy] = move.accuracy === true ? 100 : move.accuracy;
		columns[c.effect_chance] = Math.max(0, ...secondaries.map((effect) => effect.chance || 100));
		columns[c.priority] = move.priority;
		columns[c.spread] = move.target === 'allAdjacent' || move.target === 'allAdjacentFoes' ? 1 : 0;
		columns[c.contact] = move.flags.contact ? 1 : 0;
		columns[c.sound] = move.flags.sound ? 1 : 0;
		columns[c.protects] = move.stallingMove ? 1 : 0;
		columns[c.pivots] = move.selfSwitch ? 1 : 0;
		columns[c.hits_more] = move.multihit ? 1 : 0;
		columns[c.heals] = move.heal ? Math.round((100 * move.heal[0]) / move.heal[1]) : 0;
		columns[c.drains] = move.drain ? Math.round((100 * move.drain[0]) / move.drain[1]) : 0;
		columns[c.recoils] = move.recoil ? Math.round((100 * move.recoil[0]) / move.recoil[1]) : 0;
		const gain = total(move.selfBoost && move.selfBoost.boosts) + total(move.self && move.self.boosts);
		columns[c.boosts_self] = gain + (move.target === 'self' ? total(move.boosts) : 0);
		columns[c.lowers_target] = (move.target === 'self' ? 0 : total(move.boosts)) + secondaries.reduce((sum, effect) => sum + total(effect.boosts), 0);
		columns[c.inflicts_status] = move.status || secondaries.some((effect) => effect.status) ? 1 : 0;
		columns[c.redirects] = REDIRECTS.has(move.id) ? 1 : 0;
		columns[c.speed_control] = SPEED_CONTROL.has(move.id) ? 1 : 0;
		columns[c.weather_or_terrain] = move.weather || move.terrain ? 1 : 0;
		found = {
			move,
			columns,
			number: this.vocabulary.moves.get(id) ?? 0,
			type: this.vocabulary.number('types', move.type),
			category: this.vocabulary.number('categories', move.category),
			target: this.vocabulary.number('targets', move.target),
		};
		this.moveFacts.set(id, found);
		return found;
	}

	writeSlots(row, request, phase) {
		const c = this.columns.slot;
		for (let slot = 0; slot < 2; slot++) {
			const base = this.at.slot + slot * this.widths.slot;
			if (phase === 'force_switch') {
				const entry = request.side.pokemon[slot];
				row[base + c.forced] = request.forceSwitch[slot] ? 1 : 0;
				row[base + c.chooses] = row[base + c.forced];
				row[base + c.reviving] = entry && entry.reviving ? 1 : 0;
			} else if (phase === 'turn') {
				const active = request.active[slot];
				const entry = request.side.pokemon[slot];
				if (!active || isFainted(entry) || entry.commanding) continue;
				row[base + c.chooses] = 1;
				row[base + c.trapped] = active.trapped ? 1 : 0;
				row[base + c.maybe_trapped] = active.maybeTrapped ? 1 : 0;
				row[base + c.locked] = active.moves.length === 1 ? 1 : 0;
				row[base + c.gimmick] = gimmickOf(active) ? 1 : 0;
			}
		}
	}

	writeSide(row, place, tracker, seen) {
		const base = this.at.side + place * this.widths.side;
		const c = this.columns.side;
		row[base + c.fainted] = seen.team.filter((record) => record.fainted).length;
		row[base + c.statuses] = seen.team.filter((record) => record.status && !record.fainted).length;
		row[base + c.gimmick_used] = seen.gimmickUsed ? 1 : 0;
		for (const [id, since] of seen.conditions) {
			if (!(id in c)) continue;
			const layered = id === 'spikes' || id === 'toxicspikes';
			row[base + c[id]] = layered ? seen.layers.get(id) : Math.min(20, tracker.lasted(since));
		}
	}

	writeField(row, battle, tracker) {
		const c = this.columns.field;
		const base = this.at.field;
		row[this.at.weather] = this.vocabulary.number('weathers', tracker.weather.id);
		row[this.at.terrain] = this.vocabulary.number('terrains', tracker.terrain.id);
		row[base + c.weather_turns] = Math.min(20, tracker.lasted(tracker.weather.since));
		row[base + c.terrain_turns] = Math.min(20, tracker.lasted(tracker.terrain.since));
		for (const [id, since] of tracker.rooms) if (id in c) row[base + c[id]] = Math.min(20, tracker.lasted(since));
		row[base + c.turn] = Math.min(1000, battle.turn);
	}

	writeEstimates(row, mine, theirs, scene) {
		for (let slot = 0; slot < 2; slot++) {
			const targets = [theirs[0], theirs[1], mine[1 - slot]];
			this.writeDamage(row, this.at.damage + slot * 12, mine[slot], targets, scene);
			this.writeDamage(row, this.at.threat + slot * 8, theirs[slot], mine, scene);
			for (let opponent = 0; opponent < 2; opponent++) {
				if (!mine[slot] || !theirs[opponent]) continue;
				const gap = this.speed(mine[slot]) - this.speed(theirs[opponent]);
				row[this.at.outspeeds + slot * 2 + opponent] = Math.sign(gap);
			}
		}
	}

	/** Everybody against everybody as if fresh on an empty field; worked out once per pair, and when either changes. */
	writeMatchups(row, live, number, own, foes) {
		const known = live.matchups[number];
		for (let place = 0; place < own.length; place++) {
			const mine = own[place];
			for (let other = 0; other < foes.length; other++) {
				const opponent = foes[other];
				if (!mine || !opponent) continue;
				const at = 3 * (mine.record.number * SIDE_ROWS + opponent.record.number);
				const state = 1 + 4 * opponent.moves.length + 2 * mine.terastallized + opponent.terastallized;
				if (known[at] !== state) {
					const [fresh, theirs] = [mine, opponent].map((view) => ({...view, fainted: false, boosts: NO_BOOSTS, screens: NO_SCREENS, status: ''}));
					known.set([state, this.bestDamage(fresh, theirs), this.bestDamage(theirs, fresh)], at);
				}
				row[this.at.matchup + place * SIDE_ROWS + other] = known[at + 1];
				row[this.at.matchup_threat + place * SIDE_ROWS + other] = known[at + 2];
			}
		}
	}

	bestDamage(attacker, target) {
		let best = 0;
		for (const move of attacker.allMoves) {
			best = Math.max(best, expectedDamage(this.dex, this.facts(move.id).move, attacker, target, EMPTY_FIELD));
		}
		return best;
	}

	writeDamage(row, base, attacker, targets, scene) {
		if (!attacker) return;
		attacker.moves.slice(0, MOVES).forEach((move, number) => {
			const {move: data} = this.facts(move.id);
			targets.forEach((target, place) => {
				row[base + number * targets.length + place] = expectedDamage(this.dex, data, attacker, target, scene);
			});
		});
	}

	speed(view) {
		let speed = boosted(view.stats.spe, view.boosts.spe || 0);
		if (view.tailwind) speed *= 2;
		if (view.status === 'par') speed *= 0.5;
		if (view.item === 'choicescarf') speed *= 1.5;
		return speed;
	}
}

module.exports = {Features, phaseOf};
