/** The interface of the page to the worker. Each request returns a promise. */

export class Compute {
  #worker = null;
  #module = null;
  #zip = null;
  #watch;
  #number = 0;
  #pending = new Map();

  /** `watch.rows` and `watch.progress` are called with messages that precede an answer. */
  constructor(watch) {
    this.#watch = watch;
  }

  /** Sets the compiled module that the worker starts. */
  load(module) {
    this.#module = module;
  }

  /** Opens an exported model, and returns its properties. */
  async open(zip) {
    const { facts } = await this.#request({ kind: "open", module: this.#module, zip });
    this.#zip = zip;
    return facts;
  }

  /** Scores the records of a file. */
  predict(file) {
    return this.#request({ kind: "predict", file });
  }

  /** Computes the attributions of a record of a file. */
  explain(file, record) {
    return this.#request({ kind: "explain", file, record });
  }

  /** Stops the computation: ends the worker, because it cannot be interrupted, and starts a new worker. */
  stop() {
    this.#worker.terminate();
    this.#worker = null;
    this.#pending.forEach(({ reject }) => reject(new Error("Stopped.")));
    this.#pending.clear();
    return this.#request({ kind: "open", module: this.#module, zip: this.#zip });
  }

  #request(request) {
    this.#worker ??= this.#start();
    this.#number += 1;
    const number = this.#number;
    return new Promise((resolve, reject) => {
      this.#pending.set(number, { resolve, reject });
      this.#worker.postMessage({ ...request, number });
    });
  }

  #start() {
    const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }) => this.#receive(data));
    worker.addEventListener("error", (event) => {
      this.#pending.forEach(({ reject }) => reject(new Error(event.message ?? "The worker of this page failed.")));
      this.#pending.clear();
    });
    return worker;
  }

  #receive(message) {
    const pending = this.#pending.get(message.number);
    if (!pending) return this.#watch[message.kind]?.(message);
    this.#pending.delete(message.number);
    if (message.kind === "error") pending.reject(new Error(message.message));
    else pending.resolve(message);
  }
}
