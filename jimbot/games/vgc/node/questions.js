'use strict';
/** Rare questions to a worker, in JSON: what a team's validator says, the words of a battle, and what tests ask. */

const {choiceText} = require('./mask');
const {player} = require('./players');
const {Shadow} = require('./shadow');
const {decisions} = require('./spectator');

/** Packed or exported text → {packed, complaints}. */
function validate(worker, {team, format}) {
	const {Teams, TeamValidator} = worker.table.showdown;
	const sets = Teams.import(team);
	if (!sets || !sets.length) return {packed: '', size: 0, complaints: ['The text holds no team.']};
	const complaints = TeamValidator.get(format || worker.table.format).validateTeam(sets) || [];
	return {packed: Teams.pack(sets), size: sets.length, complaints};
}

/** A log as spectators get it, or with the secrets of both sides; without the time of day. */
function readLog(lines, secret = false) {
	const found = [];
	for (let at = 0; at < lines.length; at++) {
		if (lines[at].startsWith('|split|')) {
			found.push(lines[at + (secret ? 1 : 2)]);
			at += 2;
		} else if (!lines[at].startsWith('|t:|')) found.push(lines[at]);
	}
	return found;
}

/** Public lines of a battle from a place on, as a spectator would get them; or of the one that ended last in its place. */
function log(worker, {battle, from = 0, ended = false}) {
	const lines = readLog(ended ? worker.endedLogs.get(battle) || [] : worker.battles.get(battle).battle.log);
	return {lines: lines.slice(from)};
}

/** What a heuristic player would do in the place of a side; null where it has nothing to decide. */
function advise(worker, {battle, side, player: name}) {
	const live = worker.battles.get(battle);
	if (!live.acts(side)) return null;
	return player(name, worker.layout)(live.rows[side], live.legal[side], live.rng);
}

/** What this process has used: seconds of processor time, megabytes of memory. */
function usage() {
	const {user, system} = process.cpuUsage();
	return {cpu_seconds: (user + system) / 1e6, rss_mb: process.memoryUsage().rss / 2 ** 20};
}

/**
 * A battle played elsewhere: what its lines and a request mean to the side that was asked. `id` names it; a first call
 * opens it, `forget` closes it. → {row, legal}, or null without a request.
 */
function shadow(worker, {id, lines = [], request = null, forget = false}) {
	if (!worker.shadows.has(id)) worker.shadows.set(id, new Shadow(worker.table));
	const found = worker.shadows.get(id);
	found.read(lines);
	if (forget) worker.shadows.delete(id);
	if (!request) return null;
	const {row, legal} = found.ask(request);
	return {row: Array.from(row), legal, choices: legal.map((action) => choiceText(action, request))};
}

/** Plays a battle again from its input log, as a server keeps it. */
function replay(worker, {inputs, sheets}) {
	const {Battle} = worker.table.showdown;
	let battle = null;
	for (const input of inputs) {
		const [command, ...words] = input.slice(1).split(' ');
		const rest = words.join(' ');
		if (command === 'start') battle = new Battle({...JSON.parse(rest), send: () => {}});
		else if (command === 'player') battle.setPlayer(words[0], JSON.parse(words.slice(1).join(' ')));
		else if (/^p[12]$/.test(command) && rest !== 'undo') {
			if (sheets && battle.requestState === 'teampreview' && battle.sides.every((side) => !side.isChoiceDone())) battle.showOpenTeamSheets();
			battle.choose(command, rest);
		}
	}
	const lines = readLog(battle ? battle.log : [], true);
	if (battle) battle.destroy();
	return {lines};
}

const QUESTIONS = {
	decisions: (worker, {log: text}) => decisions(worker.table, text),
	replay,
	shadow,
	advise,
	usage,
	validate,
	log,
	request: (worker, {battle, side}) => worker.battles.get(battle).battle.sides[side].activeRequest,
	inputs: (worker, {battle}) => worker.battles.get(battle).battle.inputLog,
	choice: (worker, {battle, side, action}) => choiceText(action, worker.battles.get(battle).battle.sides[side].activeRequest),
};

function answer(worker, question) {
	const asked = QUESTIONS[question.what];
	if (!asked) throw new Error(`Question '${question.what}' is unknown.`);
	return asked(worker, question);
}

module.exports = {answer, readLog};
