// Scores a file twice in Node, and prints the speed of the second run as JSON.

import { readFileSync } from "node:fs";
import { Bytes, Model } from "../../web/model.js";

const [module, zip, reads] = process.argv.slice(2).map((path) => readFileSync(path));
const model = await Model.start(await WebAssembly.compile(module));
model.open(zip);

/** The records of a second, over the whole file. */
function score() {
  const begun = performance.now();
  const { records } = model.predict("reads", new Bytes(reads), {});
  return (1000 * records) / (performance.now() - begun);
}

score();
process.stdout.write(JSON.stringify({ speed: score() }));
