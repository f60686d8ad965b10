/** The worker runs all computations, so that the page stays responsive. */

import { Model } from "./model.js";

/** Number of bytes of a file that are read at a time. */
const CHUNK_BYTES = 1 << 22;

/** Milliseconds between two reports of progress. */
const REPORT_MILLISECONDS = 100;

let model = null;

/** A file that is read in chunks, so that it may be larger than memory. */
class FileSource {
  #reader = new FileReaderSync();
  #file;
  #position = 0;
  #chunk = new Uint8Array();
  #used = 0;

  constructor(file) {
    this.#file = file;
  }

  /** Number of bytes that were read by the module. */
  get used() {
    return this.#position - this.#chunk.length + this.#used;
  }

  rewind() {
    this.#position = 0;
    this.#chunk = new Uint8Array();
    this.#used = 0;
  }

  read(room) {
    if (this.#used === this.#chunk.length) this.#next();
    const part = this.#chunk.subarray(this.#used, this.#used + room.length);
    room.set(part);
    this.#used += part.length;
    return part.length;
  }

  #next() {
    const part = this.#file.slice(this.#position, this.#position + CHUNK_BYTES);
    this.#chunk = new Uint8Array(this.#reader.readAsArrayBuffer(part));
    this.#position += this.#chunk.length;
    this.#used = 0;
  }
}

/** Opens a model; the first call also starts the module. */
async function open({ module, zip }) {
  model ??= await Model.start(module);
  return { kind: "opened", facts: model.open(new Uint8Array(zip)) };
}

/** Scores the records of a file. */
function predict({ file }) {
  const source = new FileSource(file);
  let due = 0;
  const watch = {
    rows: (table) => postMessage({ kind: "rows", ...table }, [table.scores.buffer, table.text.buffer]),
    progress: (records) => {
      if (performance.now() < due) return;
      due = performance.now() + REPORT_MILLISECONDS;
      postMessage({ kind: "progress", records, part: source.used / file.size });
    },
  };
  return { kind: "done", ...model.predict(file.name, source, watch) };
}

/** Computes the attributions of a record. */
function explain({ file, record }) {
  return { kind: "explained", record, ...model.look(file.name, new FileSource(file), record) };
}

const HANDLERS = { open, predict, explain };

/** Returns the message of an error. After an error of the WebAssembly engine, the module is unusable. */
function messageOf(error) {
  if (!(error instanceof WebAssembly.RuntimeError)) return error.message;
  model = null;
  return "The computation needed more memory than this page may use. Try shorter sequences.";
}

addEventListener("message", async ({ data }) => {
  try {
    postMessage({ number: data.number, ...(await HANDLERS[data.kind](data)) });
  } catch (error) {
    postMessage({ kind: "error", number: data.number, during: data.kind, message: messageOf(error) });
  }
});
