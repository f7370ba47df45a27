'use strict';
/**
 * Faster look-up of event handlers and rules, put over the simulator's own functions at run time; its files stay
 * untouched.
 *
 * Half of a battle's time goes into asking every status, ability, item and species whether it handles "onFoeX". Effects
 * of the Dex are frozen, so the names they handle are collected once; names that nothing in the Dex handles are not
 * asked for at all, and composed names are made once per event. A changed simulator could answer differently, so the
 * patch refuses any version but the one it was compared with.
 */

const VERSION = '0.11.11';
const WITHOUT_PREFIXES = new Set(['BeforeTurn', 'Update', 'Weather', 'WeatherChange', 'TerrainChange']);
const TABLES = ['Abilities', 'Items', 'Moves', 'Conditions', 'Pokedex', 'Rulesets'];
const SWITCH_IN = 'onSwitchIn';
const NO_END = () => {};

function collect(into, effect) {
	for (let part = effect; part && part !== Object.prototype; part = Object.getPrototypeOf(part)) {
		for (const name of Object.getOwnPropertyNames(part)) if (name.startsWith('on')) into.add(name);
	}
	return into;
}

/** Every handler name that anything a Pokémon can carry might have. */
function namesOf(dex) {
	const found = new Set([SWITCH_IN]);
	for (const table of TABLES) {
		for (const entry of Object.values(dex.data[table])) {
			collect(found, entry);
			if (entry.condition) collect(found, entry.condition);
		}
	}
	return found;
}

function apply(showdown, version, internals) {
	if (version !== VERSION) {
		throw new Error(`The handler patch was compared with pokemon-showdown ${VERSION}, but this is ${version}; switch it off.`);
	}
	const {Battle} = showdown;
	const {Pokemon, Side, ModdedDex, DexFormats, deepClone} = internals;
	const original = Battle.prototype.findPokemonEventHandlers;
	const ofEffect = new WeakMap(); // frozen effect → the names it handles
	const ofDex = new WeakMap(); // dex → event → composed names worth asking for

	/** False where the effect surely has no such handler. Only frozen effects are remembered: others may still change. */
	function mayHandle(effect, name) {
		let set = ofEffect.get(effect);
		if (set === undefined) {
			if (!Object.isFrozen(effect)) return true;
			set = collect(new Set(), effect);
			ofEffect.set(effect, set);
		}
		// From the fifth generation on, abilities and items answer onSwitchIn with their onStart.
		return set.has(name) || (name === SWITCH_IN && set.has('onStart'));
	}

	/** The composed names of an event; '' for those that no effect handles. */
	function composed(dex, event) {
		let known = ofDex.get(dex);
		if (known === undefined) {
			known = {names: namesOf(dex), events: new Map()};
			ofDex.set(dex, known);
		}
		let found = known.events.get(event);
		if (found === undefined) {
			const prefixed = !WITHOUT_PREFIXES.has(event);
			const worth = (name) => (known.names.has(name) ? name : '');
			found = {
				prefixed, plain: `on${event}`, foe: `onFoe${event}`, any: `onAny${event}`,
				own: worth(`on${event}`), ally: worth(`onAlly${event}`), anybody: worth(`onAny${event}`),
				rival: worth(`onFoe${event}`), source: worth(`onSource${event}`),
			};
			known.events.set(event, found);
		}
		return found;
	}

	function offer(battle, handlers, pokemon, effect, name, state, end, args) {
		if (!mayHandle(effect, name)) return;
		const callback = battle.getCallback(pokemon, effect, name);
		if (callback === undefined) return;
		const handler = {effect, callback, state, end, effectHolder: pokemon};
		if (args) handler.endCallArgs = args;
		handlers.push(battle.resolvePriority(handler, name));
	}

	function ofPokemon(battle, handlers, pokemon, name) {
		const conditions = battle.dex.conditions;
		if (pokemon.status) offer(battle, handlers, pokemon, pokemon.getStatus(), name, pokemon.statusState, pokemon.clearStatus);
		for (const id in pokemon.volatiles) {
			offer(battle, handlers, pokemon, conditions.getByID(id), name, pokemon.volatiles[id], pokemon.removeVolatile);
		}
		offer(battle, handlers, pokemon, pokemon.getAbility(), name, pokemon.abilityState, pokemon.clearAbility);
		if (pokemon.item) offer(battle, handlers, pokemon, pokemon.getItem(), name, pokemon.itemState, pokemon.clearItem);
		offer(battle, handlers, pokemon, pokemon.baseSpecies, name, pokemon.speciesState, NO_END);
		const {side} = pokemon;
		const slot = side.slotConditions[pokemon.position];
		for (const id in slot) {
			const condition = conditions.getByID(id);
			const args = [side, pokemon, condition.id];
			offer(battle, handlers, pokemon, condition, name, slot[id], side.removeSlotCondition, args);
		}
	}

	function add(handlers, found) {
		for (let at = 0; at < found.length; at++) handlers.push(found[at]);
	}

	Battle.prototype.findPokemonEventHandlers = function (pokemon, name, getKey) {
		if (getKey) return original.call(this, pokemon, name, getKey);
		const handlers = [];
		ofPokemon(this, handlers, pokemon, name);
		return handlers;
	};

	Battle.prototype.findEventHandlers = function (target, event, source) {
		if (Array.isArray(target)) {
			const all = [];
			for (let index = 0; index < target.length; index++) {
				for (const handler of this.findEventHandlers(target[index], event, source)) {
					handler.target = target[index];
					handler.index = index;
					all.push(handler);
				}
			}
			return all;
		}
		const name = composed(this.dex, event);
		const handlers = [];
		const bubblesDown = target instanceof Side;
		if (target instanceof Pokemon && (target.isActive || source?.isActive)) {
			if (name.own) ofPokemon(this, handlers, target, name.own);
			if (name.prefixed && (name.ally || name.anybody)) {
				for (const ally of target.alliesAndSelf()) {
					if (name.ally) ofPokemon(this, handlers, ally, name.ally);
					if (name.anybody) ofPokemon(this, handlers, ally, name.anybody);
				}
			}
			if (name.prefixed && (name.rival || name.anybody)) {
				for (const foe of target.foes()) {
					if (name.rival) ofPokemon(this, handlers, foe, name.rival);
					if (name.anybody) ofPokemon(this, handlers, foe, name.anybody);
				}
			}
			target = target.side;
		}
		if (source && name.prefixed && name.source) ofPokemon(this, handlers, source, name.source);
		if (target instanceof Side) {
			for (const side of this.sides) {
				const own = side === target || side === target.allySide;
				if (bubblesDown) {
					for (const active of side.active) {
						if (own) {
							if (name.own) ofPokemon(this, handlers, active, name.own);
						} else if (name.prefixed && name.rival) ofPokemon(this, handlers, active, name.rival);
						if (name.prefixed && name.anybody) ofPokemon(this, handlers, active, name.anybody);
					}
				}
				if (side.n < 2 || !side.allySide) {
					if (own) add(handlers, this.findSideEventHandlers(side, name.plain));
					else if (name.prefixed) add(handlers, this.findSideEventHandlers(side, name.foe));
					if (name.prefixed) add(handlers, this.findSideEventHandlers(side, name.any));
				}
			}
		}
		add(handlers, this.findFieldEventHandlers(this.field, name.plain));
		add(handlers, this.findBattleEventHandlers(name.plain));
		return handlers;
	};

	// Every battle asks for each of its rules, and each was made anew.
	const getFormat = DexFormats.prototype.get;
	const known = new WeakMap(); // formats of a dex → name → rule
	DexFormats.prototype.get = function (name, isTrusted) {
		if (typeof name !== 'string' || name.includes('@@@')) return getFormat.call(this, name, isTrusted);
		if (!known.has(this)) known.set(this, new Map());
		const rules = known.get(this);
		if (!rules.has(name)) rules.set(name, getFormat.call(this, name, isTrusted));
		return rules.get(name);
	};

	// An active move is a deep copy of the Dex's; most of its fields are plain values.
	const deepFields = new WeakMap();
	ModdedDex.prototype.getActiveMove = function (move) {
		if (move && typeof move.hit === 'number') return move;
		move = this.moves.get(move);
		let fields = deepFields.get(move);
		if (fields === undefined) {
			fields = Object.keys(move).filter((key) => move[key] !== null && typeof move[key] === 'object');
			if (Object.isFrozen(move)) deepFields.set(move, fields);
		}
		const copy = Object.assign(Object.create(Object.getPrototypeOf(move)), move);
		for (const key of fields) copy[key] = deepClone(move[key]);
		copy.hit = 0;
		return copy;
	};
}

module.exports = {VERSION, apply};
