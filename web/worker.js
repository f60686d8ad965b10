/** The worker: computes, so that the page stays quick. */

import { Model } from "./model.js";

/** So much of a file is read at once. */
const PIECE = 1 << 22;

/** So many milliseconds pass between two reports. */
const PAUSE = 100;

let model = null;

/** A file, read piece by piece; it is never in memory as a whole. */
class FileSource {
  #reader = new FileReaderSync();
  #file;
  #position = 0;
  #piece = new Uint8Array();
  #used = 0;

  constructor(file) {
    this.#file = file;
  }

  /** Bytes that were used. */
  get used() {
    return this.#position - this.#piece.length + this.#used;
  }

  rewind() {
    this.#position = 0;
    this.#piece = new Uint8Array();
    this.#used = 0;
  }

  read(room) {
    if (this.#used === this.#piece.length) this.#next();
    const part = this.#piece.subarray(this.#used, this.#used + room.length);
    room.set(part);
    this.#used += part.length;
    return part.length;
  }

  #next() {
    const part = this.#file.slice(this.#position, this.#position + PIECE);
    this.#piece = new Uint8Array(this.#reader.readAsArrayBuffer(part));
    this.#position += this.#piece.length;
    this.#used = 0;
  }
}

/** Starts the module, then opens a model. */
async function open({ module, zip }) {
  model ??= await Model.start(module);
  return { kind: "opened", facts: model.open(new Uint8Array(zip)) };
}

/** Scores a file. */
function predict({ file }) {
  const source = new FileSource(file);
  let due = 0;
  const watch = {
    rows: (table) => postMessage({ kind: "rows", ...table }, [table.scores.buffer, table.text.buffer]),
    progress: (records) => {
      if (performance.now() < due) return;
      due = performance.now() + PAUSE;
      postMessage({ kind: "progress", records, part: source.used / file.size });
    },
  };
  return { kind: "done", ...model.predict(file.name, source, watch) };
}

/** Says where the model looked. */
function look({ file, record }) {
  return { kind: "seen", record, ...model.look(file.name, new FileSource(file), record) };
}

const WORK = { open, predict, look };

/** What is said of an error; one of the engine itself leaves no module to go on with. */
function said(error) {
  if (!(error instanceof WebAssembly.RuntimeError)) return error.message;
  model = null;
  return "The computation needed more memory than this page may use. Try shorter sequences.";
}

addEventListener("message", async ({ data }) => {
  try {
    postMessage({ number: data.number, ...(await WORK[data.kind](data)) });
  } catch (error) {
    postMessage({ kind: "error", number: data.number, during: data.kind, message: said(error) });
  }
});
