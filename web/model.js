/**
 * Runs exported models with the WebAssembly module of the crate `seqloom-web`.
 *
 * This file uses no functions of browsers, so it also runs in Node.
 */

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** A file of sequences in memory. */
export class Bytes {
  constructor(bytes) {
    this.bytes = bytes;
    this.position = 0;
  }

  /** Returns to the start of the file. */
  rewind() {
    this.position = 0;
  }

  /** Writes the next bytes to `room`, and returns their number; 0 at the end of the file. */
  read(room) {
    const part = this.bytes.subarray(this.position, this.position + room.length);
    room.set(part);
    this.position += part.length;
    return part.length;
  }
}

/** The WebAssembly module, with one open model. */
export class Model {
  #exports;
  #source = null;
  #watch = {};

  /** Starts a compiled `WebAssembly.Module`. */
  static async start(module) {
    const model = new Model();
    const instance = await WebAssembly.instantiate(module, { host: model.#host() });
    model.#exports = instance.exports;
    return model;
  }

  /** Opens the bytes of an exported zip, and returns the properties of the model. */
  open(zip) {
    return JSON.parse(decoder.decode(this.#call("open", zip)));
  }

  /**
   * Scores every record of a source `{rewind, read}`, such as `Bytes`, and returns a summary.
   *
   * `watch.rows` is called with each table of scores, and `watch.progress` with the number of scored
   * records. `name` is the name of the file in error messages.
   */
  predict(name, source, watch) {
    this.#source = source;
    this.#watch = watch;
    return JSON.parse(decoder.decode(this.#call("predict", encoder.encode(name))));
  }

  /** Computes the importance of each position of a record. The first record of a source is 0. */
  look(name, source, record) {
    this.#source = source;
    const answer = this.#call("look", encoder.encode(name), record);
    const end = answer.indexOf(10);
    const facts = JSON.parse(decoder.decode(answer.subarray(0, end)));
    return { ...facts, importances: floats(answer, end + 1, (answer.length - end - 1) / 4) };
  }

  /** Size of the memory of the module in bytes. */
  get memory() {
    return this.#exports.memory.buffer.byteLength;
  }

  /** Calls an exported function with bytes. Returns its answer, or throws its error. */
  #call(name, input, ...rest) {
    const start = this.#exports.room(input.length) >>> 0;
    if (start === 0) throw new Error(`the input has ${input.length} bytes, more than this page supports`);
    this.#view(start, input.length).set(input);
    const failed = this.#exports[name](...rest);
    const answer = this.#view(this.#exports.answer() >>> 0, this.#exports.answer_size() >>> 0).slice();
    if (failed) throw new Error(decoder.decode(answer));
    return answer;
  }

  /** Returns a view of the memory of the module; growing the memory invalidates the view. */
  #view(start, size) {
    return new Uint8Array(this.#exports.memory.buffer, start, size);
  }

  /** Returns the functions that the module calls. */
  #host() {
    return {
      rewind: () => this.#source.rewind(),
      read: (start, size) => this.#read(start >>> 0, size >>> 0),
      rows: (start, size) => this.#watch.rows?.(table(this.#view(start >>> 0, size >>> 0).slice())),
      progress: (records) => this.#watch.progress?.(records),
    };
  }

  /** Reads bytes of the source into memory; returns -1 on failure. */
  #read(start, size) {
    try {
      return this.#source.read(this.#view(start, size));
    } catch {
      return -1;
    }
  }
}

/** Decodes a table of scores: 32-bit floats, row by row, and the text in the format of `seqloom-run`. */
function table(bytes) {
  const view = new DataView(bytes.buffer);
  const [count, columns] = [view.getUint32(0, true), view.getUint32(4, true)];
  const size = count * columns;
  return { count, columns, scores: floats(bytes, 8, size), text: bytes.slice(8 + 4 * size) };
}

/** Decodes 32-bit floats at any offset, which need not be a multiple of 4. */
function floats(bytes, start, count) {
  const view = new DataView(bytes.buffer, bytes.byteOffset + start);
  return Float32Array.from({ length: count }, (_, index) => view.getFloat32(4 * index, true));
}
