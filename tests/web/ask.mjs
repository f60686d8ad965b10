// Runs the WebAssembly module in Node: `node ask.mjs MODULE < questions > answers` (JSON lists).

import { readFileSync } from "node:fs";
import { Bytes, Model } from "../../web/model.js";

/** A source whose `read` returns at most `most` bytes. */
class ChunkedBytes extends Bytes {
  constructor(bytes, most) {
    super(bytes);
    this.most = most;
  }

  read(room) {
    return super.read(room.subarray(0, this.most));
  }
}

const module = await WebAssembly.compile(readFileSync(process.argv[2]));
let model = await Model.start(module);

/** The bytes of a file, or the bytes in the question itself. */
function bytes(given) {
  return typeof given === "string" ? readFileSync(given) : Uint8Array.from(given);
}

/** A file with flipped bits, or truncated. */
function spoiled({ path, cut, flips = [] }) {
  const changed = Uint8Array.from(readFileSync(path));
  for (const place of flips) changed[place] ^= 1;
  return changed.subarray(0, cut ?? changed.length);
}

const HANDLERS = {
  open: ({ path }) => model.open(bytes(path)),
  spoil: (given) => model.open(spoiled(given)),
  predict: ({ path, most = 1 << 20 }) => {
    const [scores, text] = [[], []];
    const rows = (table) => (scores.push(...table.scores), text.push(Buffer.from(table.text)));
    const summary = model.predict("given", new ChunkedBytes(bytes(path), most), { rows });
    return { ...summary, scores, text: Buffer.concat(text).toString() };
  },
  look: ({ path, record }) => {
    const seen = model.look("given", new ChunkedBytes(bytes(path), 1 << 20), record);
    return { ...seen, importances: Array.from(seen.importances) };
  },
  memory: () => model.memory,
};

/** Returns an answer or an error. After a trap the module is unusable, so a new one is started. */
async function answer(question) {
  try {
    return HANDLERS[question.do](question);
  } catch (error) {
    const isTrap = error instanceof WebAssembly.RuntimeError;
    if (isTrap) model = await Model.start(module);
    return { error: error.message, is_trap: isTrap };
  }
}

const questions = JSON.parse(readFileSync(0, "utf8"));
const answers = [];
for (const question of questions) answers.push(await answer(question));
process.stdout.write(JSON.stringify(answers));
