/** The worker, as the page sees it: one question at a time, each with a promise. */

export class Compute {
  #worker = null;
  #module = null;
  #zip = null;
  #watch;
  #number = 0;
  #waiting = new Map();

  /** `watch` gets what comes before an answer: `rows` and `progress`. */
  constructor(watch) {
    this.#watch = watch;
  }

  /** Keeps the compiled module. */
  load(module) {
    this.#module = module;
  }

  /** Opens an exported model and returns its facts. */
  async open(zip) {
    const { facts } = await this.#ask({ kind: "open", module: this.#module, zip });
    this.#zip = zip;
    return facts;
  }

  /** Scores a file. */
  predict(file) {
    return this.#ask({ kind: "predict", file });
  }

  /** Says where the model looked in a record of a file. */
  look(file, record) {
    return this.#ask({ kind: "look", file, record });
  }

  /** Ends what runs: only a new worker can. */
  stop() {
    this.#worker.terminate();
    this.#worker = null;
    this.#waiting.forEach(({ reject }) => reject(new Error("Stopped.")));
    this.#waiting.clear();
    return this.#ask({ kind: "open", module: this.#module, zip: this.#zip });
  }

  #ask(question) {
    this.#worker ??= this.#start();
    this.#number += 1;
    const number = this.#number;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      this.#worker.postMessage({ ...question, number });
    });
  }

  #start() {
    const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }) => this.#hear(data));
    worker.addEventListener("error", (event) => {
      this.#waiting.forEach(({ reject }) => reject(new Error(event.message ?? "The worker failed.")));
      this.#waiting.clear();
    });
    return worker;
  }

  #hear(said) {
    const waiting = this.#waiting.get(said.number);
    if (!waiting) return this.#watch[said.kind]?.(said);
    this.#waiting.delete(said.number);
    if (said.kind === "error") waiting.reject(new Error(said.message));
    else waiting.resolve(said);
  }
}
