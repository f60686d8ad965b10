// Scores a file twice in Node, and prints the speed of the second run as JSON.

import { readFileSync } from "node:fs";
import { Bytes, Model } from "../../web/model.js";

const [module, zip, reads] = process.argv.slice(2).map((path) => readFileSync(path));
const model = await Model.start(await WebAssembly.compile(module));
model.open(zip);

/** Scores the file, and returns the number of records per second. */
function score() {
  const begun = performance.now();
  const { records } = model.predict("reads", new Bytes(reads), {});
  return (1000 * records) / (performance.now() - begun);
}

score();
process.stdout.write(JSON.stringify({ speed: score() }));
