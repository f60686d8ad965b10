/** The page: what is opened, scored and shown, and when. */

import { showLook } from "./letters.js";
import { Scores } from "./scores.js";
import { showFacts, showSummary, showTable } from "./tables.js";
import { Compute } from "./compute.js";

const find = (id) => document.getElementById(id);

/** The files that the page brings along. */
const MODULE = "seqloom_web.wasm";
const MODEL = "splice.seqloom.zip";
const EXAMPLE = "example.fa";

const compute = new Compute({ rows: addRows, progress: showProgress });

/** What is open and shown. */
const state = { facts: null, file: null, scores: null, start: 0, chosen: null };

/** Loads the module, the model and the example that the page brings along. */
async function begin() {
  const [module, model, example] = await Promise.all([MODULE, MODEL, EXAMPLE].map(fetched));
  find("size").textContent = `${Math.round(module.byteLength / 1000)} kB`;
  await compute.load(await WebAssembly.compile(module));
  find("pasted").value = new TextDecoder().decode(example);
  await open(MODEL, model);
}

/** The bytes of a file beside the page. */
async function fetched(name) {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name} is missing beside this page (${response.status}): run make web`);
  return response.arrayBuffer();
}

/** Opens an exported model. */
async function open(name, zip) {
  find("model-name").textContent = `Opening ${name} …`;
  find("score").disabled = true;
  try {
    state.facts = await compute.open(zip);
  } catch (error) {
    find("model-name").textContent = `${name}: not opened`;
    throw error;
  }
  find("model-name").textContent = name;
  showFacts(find("facts"), state.facts);
  find("score").disabled = false;
  for (const id of ["result", "look"]) find(id).hidden = true;
}

/** Scores a file. */
async function score(file) {
  Object.assign(state, { file, scores: new Scores(state.facts.columns), start: 0, chosen: null });
  find("result").hidden = false;
  find("look").hidden = true;
  showWarnings([]);
  show();
  busy(true);
  showProgress({ records: 0, part: 0 });
  try {
    const { records, warnings } = await compute.predict(file);
    showWarnings(warnings);
    find("status").textContent = `${number(records)} ${records === 1 ? "record" : "records"} of ${file.name}`;
  } catch (error) {
    find("status").textContent = `${number(state.scores.count)} records of ${file.name}, then it stopped.`;
    throw error;
  } finally {
    busy(false);
  }
  if (state.facts.can_look && state.scores.count > 0) await look(0);
}

/** Lists what makes scores doubtful. */
function showWarnings(warnings) {
  const items = warnings.map((text) => Object.assign(document.createElement("li"), { textContent: text }));
  find("warnings").replaceChildren(...items);
  find("warnings").hidden = warnings.length === 0;
}

/** Shows or hides what belongs to a computation that runs. */
function busy(is) {
  find("score").disabled = is;
  find("stop").hidden = !is;
  find("progress").hidden = !is;
  find("result").setAttribute("aria-busy", String(is));
}

/** Takes scores as they come. */
function addRows(table) {
  const was = state.scores.count;
  state.scores.add(table);
  if (was < state.start + ROWS) show();
  else showSummary(find("summary"), state.scores);
}

function showProgress({ records, part }) {
  find("progress").value = part;
  find("status").textContent = `${number(records)} records, ${Math.round(100 * part)} % of the file …`;
}

/** So many rows are shown at once. */
const ROWS = 20;

/** Shows a page of the table. */
function show() {
  const { scores, start, facts, chosen } = state;
  const end = Math.min(start + ROWS, scores.count);
  showSummary(find("summary"), scores);
  showTable(find("table"), { scores, facts, chosen, rows: [start, end], choose: guarded(look) });
  find("shown").textContent = scores.count ? `${number(start + 1)} to ${number(end)} of ${number(scores.count)}` : "";
  find("before").disabled = start === 0;
  find("after").disabled = end >= scores.count;
  find("save").disabled = scores.count === 0;
}

/** Turns to another page of the table. */
function turn(by) {
  state.start = Math.max(0, state.start + by * ROWS);
  show();
}

/** Asks where the model looked in a record, and shows it. */
async function look(record) {
  state.chosen = record;
  show();
  find("look").hidden = false;
  find("look-status").textContent = "Covering one position after the other …";
  find("look-body").hidden = true;
  try {
    const seen = await compute.look(state.file, record);
    find("look-status").textContent = `Record ${seen.id}, ${number(seen.letters.length)} letters`;
    find("look-body").hidden = false;
    showLook(seen, state.facts);
  } catch (error) {
    find("look-status").textContent = "";
    find("look").hidden = true;
    throw error;
  }
}

/** Saves the table. */
function save() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(state.scores.file());
  link.download = `${state.file.name.replace(/\.(gz|bgz)$/, "")}.scores.tsv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** What was pasted, as a file; letters alone become one record. */
function pasted() {
  const text = find("pasted").value.trim();
  if (!text) throw new Error("There are no sequences yet: paste some, or open a file.");
  const isFile = /^[>@;]/.test(text);
  return new File([isFile ? `${text}\n` : `>pasted\n${text.replace(/\s+/g, "")}\n`], "pasted text");
}

function number(count) {
  return count.toLocaleString("en");
}

/** A function whose errors are shown. */
function guarded(action) {
  return async (...given) => {
    find("error").hidden = true;
    try {
      await action(...given);
    } catch (error) {
      find("error").textContent = error.message;
      find("error").hidden = false;
      find("error").scrollIntoView({ block: "nearest" });
    }
  };
}

/** Hands a chosen or dropped file to an action. */
function receive({ input, area, action }) {
  const act = guarded(action);
  find(input).addEventListener("change", ({ target }) => {
    const [file] = target.files;
    target.value = "";
    if (file) act(file);
  });
  const zone = find(area);
  const mark = (is) => zone.classList.toggle("over", is);
  zone.addEventListener("dragover", (event) => (event.preventDefault(), mark(true)));
  zone.addEventListener("dragleave", () => mark(false));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(false);
    if (event.dataTransfer.files.length > 0) act(event.dataTransfer.files[0]);
  });
}

receive({ input: "model-file", area: "model-drop", action: async (file) => open(file.name, await file.arrayBuffer()) });
receive({ input: "records-file", area: "records-drop", action: score });
find("score").addEventListener("click", guarded(() => score(pasted())));
find("stop").addEventListener("click", () => compute.stop());
find("before").addEventListener("click", () => turn(-1));
find("after").addEventListener("click", () => turn(1));
find("save").addEventListener("click", guarded(save));
guarded(begin)();
