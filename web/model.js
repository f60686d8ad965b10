/**
 * An exported model in WebAssembly: the bindings of the module `seqloom-web`.
 *
 * It needs neither a page nor a worker, so that Node runs it too.
 */

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Bytes as a file of sequences. */
export class Bytes {
  constructor(bytes) {
    this.bytes = bytes;
    this.position = 0;
  }

  /** Begins anew. */
  rewind() {
    this.position = 0;
  }

  /** Fills some of `room` and says how much; 0 at the end. */
  read(room) {
    const part = this.bytes.subarray(this.position, this.position + room.length);
    room.set(part);
    this.position += part.length;
    return part.length;
  }
}

/** A model that is open. */
export class Model {
  #exports;
  #source = null;
  #watch = {};

  /** Starts a compiled module. */
  static async start(module) {
    const model = new Model();
    const instance = await WebAssembly.instantiate(module, { host: model.#host() });
    model.#exports = instance.exports;
    return model;
  }

  /** Opens the bytes of an exported model and returns its facts. */
  open(zip) {
    return JSON.parse(decoder.decode(this.#ask("open", zip)));
  }

  /**
   * Scores every record of a source `{rewind, read}`, and returns a summary.
   *
   * `watch.rows` gets tables as they come, `watch.progress` the number of records that are done.
   */
  predict(name, source, watch) {
    this.#source = source;
    this.#watch = watch;
    return JSON.parse(decoder.decode(this.#ask("predict", encoder.encode(name))));
  }

  /** Says where the model looked in a record of a source, the first of which is 0. */
  look(name, source, record) {
    this.#source = source;
    const answer = this.#ask("look", encoder.encode(name), record);
    const end = answer.indexOf(10);
    const facts = JSON.parse(decoder.decode(answer.subarray(0, end)));
    return { ...facts, importances: floats(answer, end + 1, (answer.length - end - 1) / 4) };
  }

  /** How many bytes of memory the module holds. */
  get memory() {
    return this.#exports.memory.buffer.byteLength;
  }

  /** Gives bytes to a function and returns its answer, or throws its error. */
  #ask(name, given, ...rest) {
    const start = this.#exports.room(given.length) >>> 0;
    if (start === 0) throw new Error(`${given.length} bytes are too many for this page`);
    this.#view(start, given.length).set(given);
    const failed = this.#exports[name](...rest);
    const answer = this.#view(this.#exports.answer() >>> 0, this.#exports.answer_size() >>> 0).slice();
    if (failed) throw new Error(decoder.decode(answer));
    return answer;
  }

  /** Memory of the module, which moves whenever it grows. */
  #view(start, size) {
    return new Uint8Array(this.#exports.memory.buffer, start, size);
  }

  /** The functions that the module calls. */
  #host() {
    return {
      rewind: () => this.#source.rewind(),
      read: (start, size) => this.#read(start >>> 0, size >>> 0),
      rows: (start, size) => this.#watch.rows?.(table(this.#view(start >>> 0, size >>> 0).slice())),
      progress: (records) => this.#watch.progress?.(records),
    };
  }

  /** Reads a part of the source; -1 where that fails. */
  #read(start, size) {
    try {
      return this.#source.read(this.#view(start, size));
    } catch {
      return -1;
    }
  }
}

/** A table of scores: floats row by row, and the lines that `seqloom-run` writes of them. */
function table(bytes) {
  const view = new DataView(bytes.buffer);
  const [count, columns] = [view.getUint32(0, true), view.getUint32(4, true)];
  const size = count * columns;
  return { count, columns, scores: floats(bytes, 8, size), text: bytes.slice(8 + 4 * size) };
}

/** Floats of 32 bits, wherever they begin. */
function floats(bytes, start, count) {
  const view = new DataView(bytes.buffer, bytes.byteOffset + start);
  return Float32Array.from({ length: count }, (_, index) => view.getFloat32(4 * index, true));
}
