'use strict';
/**
 * Frames over pipes: length (uint32, of what follows), kind (uint8), ticket (uint32), payload. Little endian.
 * Everything of size travels as binary rows; rare questions and answers are JSON.
 */

const PROTOCOL = 1;
const KINDS = {CONFIGURE: 1, HELLO: 2, START: 3, STEP: 4, ROWS: 5, RESTORE: 6, REDRAW: 7, ASK: 8, ANSWER: 9, FAILED: 10};
const FLAGS = {ACTING: 1, ENDED: 2, REFUSED: 4, ABORTED: 8};
const HEADER = 9;
const ROW_HEADER = 6; // battle u16, side u8, phase u8, flags u8, spare u8

class FrameReader {
	constructor(onFrame) {
		this.onFrame = onFrame;
		this.pending = [];
		this.size = 0;
	}

	push(chunk) {
		this.pending.push(chunk);
		this.size += chunk.length;
		while (this.size >= 4) {
			const head = this.pending.length > 1 ? Buffer.concat(this.pending) : this.pending[0];
			this.pending = [head];
			const length = head.readUInt32LE(0);
			if (head.length < 4 + length) return;
			this.pending = head.length > 4 + length ? [head.subarray(4 + length)] : [];
			this.size = head.length - 4 - length;
			this.onFrame(head.readUInt8(4), head.readUInt32LE(5), head.subarray(HEADER, 4 + length));
		}
	}
}

function frame(kind, ticket, payload) {
	const head = Buffer.allocUnsafe(HEADER);
	head.writeUInt32LE(HEADER - 4 + payload.length, 0);
	head.writeUInt8(kind, 4);
	head.writeUInt32LE(ticket, 5);
	return Buffer.concat([head, payload]);
}

const json = (value) => Buffer.from(JSON.stringify(value), 'utf8');

/** Reads numbers off a payload in order. */
class Cursor {
	constructor(payload) {
		this.payload = payload;
		this.at = 0;
	}

	get done() {
		return this.at >= this.payload.length;
	}

	u8() { return this.payload.readUInt8(this.at++); }
	u16() { return this.payload.readUInt16LE((this.at += 2) - 2); }
	u32() { return this.payload.readUInt32LE((this.at += 4) - 4); }
}

module.exports = {Cursor, FLAGS, FrameReader, KINDS, PROTOCOL, ROW_HEADER, frame, json};
