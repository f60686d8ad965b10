/** The page: opens models and files, and shows scores and attributions. */

import { showAttributions } from "./letters.js";
import { Scores } from "./scores.js";
import { showFacts, showSummary, showTable } from "./tables.js";
import { Compute } from "./compute.js";

const find = (id) => document.getElementById(id);

/** Files in the folder of the page. */
const MODULE = "seqloom_web.wasm";
const MODEL = "splice.seqloom.zip";
const EXAMPLE = "example.fa";

const compute = new Compute({ rows: addRows, progress: showProgress });

/** The open model and file, the scores, the first row of the table, and the selected record. */
const state = { facts: null, file: null, scores: null, start: 0, chosen: null };

/** Loads the module, the model and the example in the folder of the page. */
async function loadPage() {
  const [module, model, example] = await Promise.all([MODULE, MODEL, EXAMPLE].map(fetchFile));
  find("size").textContent = `${Math.round(module.byteLength / 1000)} kB`;
  await compute.load(await WebAssembly.compile(module));
  find("pasted").value = new TextDecoder().decode(example);
  await open(MODEL, model);
}

/** Returns the bytes of a file in the folder of the page. */
async function fetchFile(name) {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`cannot load ${name} (HTTP status ${response.status}); make web creates it`);
  return response.arrayBuffer();
}

/** Opens an exported model. */
async function open(name, zip) {
  find("model-name").textContent = `Opening ${name} …`;
  find("score").disabled = true;
  try {
    state.facts = await compute.open(zip);
  } catch (error) {
    find("model-name").textContent = `${name} cannot be opened`;
    throw error;
  }
  find("model-name").textContent = name;
  showFacts(find("facts"), state.facts);
  find("score").disabled = false;
  for (const id of ["result", "look"]) find(id).hidden = true;
}

/** Scores the records of a file. */
async function score(file) {
  Object.assign(state, { file, scores: new Scores(state.facts.columns), start: 0, chosen: null });
  find("result").hidden = false;
  find("look").hidden = true;
  showWarnings([]);
  show();
  setBusy(true);
  showProgress({ records: 0, part: 0 });
  try {
    const { records, warnings } = await compute.predict(file);
    showWarnings(warnings);
    find("status").textContent = `${formatNumber(records)} ${records === 1 ? "record" : "records"} of ${file.name}`;
  } catch (error) {
    find("status").textContent = `Stopped after ${formatNumber(state.scores.count)} records of ${file.name}.`;
    throw error;
  } finally {
    setBusy(false);
  }
  if (state.facts.can_look && state.scores.count > 0) await explain(0);
}

/** Shows warnings about the input. */
function showWarnings(warnings) {
  const items = warnings.map((text) => Object.assign(document.createElement("li"), { textContent: text }));
  find("warnings").replaceChildren(...items);
  find("warnings").hidden = warnings.length === 0;
}

/** Shows or hides the elements of a running computation. */
function setBusy(is) {
  find("score").disabled = is;
  find("stop").hidden = !is;
  find("progress").hidden = !is;
  find("result").setAttribute("aria-busy", String(is));
}

/** Adds a table of scores, and updates the page. */
function addRows(table) {
  const was = state.scores.count;
  state.scores.add(table);
  if (was < state.start + ROWS_PER_PAGE) show();
  else showSummary(find("summary"), state.scores);
}

function showProgress({ records, part }) {
  find("progress").value = part;
  find("status").textContent = `${formatNumber(records)} records, ${Math.round(100 * part)} % of the file …`;
}

/** Number of rows on a page of the table. */
const ROWS_PER_PAGE = 20;

/** Shows a page of the table. */
function show() {
  const { scores, start, facts, chosen } = state;
  const end = Math.min(start + ROWS_PER_PAGE, scores.count);
  showSummary(find("summary"), scores);
  showTable(find("table"), { scores, facts, chosen, rows: [start, end], choose: guarded(explain) });
  find("shown").textContent = scores.count ? `${formatNumber(start + 1)} to ${formatNumber(end)} of ${formatNumber(scores.count)}` : "";
  find("before").disabled = start === 0;
  find("after").disabled = end >= scores.count;
  find("save").disabled = scores.count === 0;
}

/** Shows another page of the table. */
function turnPage(by) {
  state.start = Math.max(0, state.start + by * ROWS_PER_PAGE);
  show();
}

/** Computes and shows the attributions of a record. */
async function explain(record) {
  state.chosen = record;
  show();
  find("look").hidden = false;
  find("look-status").textContent = "Replacing each residue in turn …";
  find("look-body").hidden = true;
  try {
    const attributions = await compute.explain(state.file, record);
    find("look-status").textContent = `Record ${attributions.id}, ${formatNumber(attributions.letters.length)} residues`;
    find("look-body").hidden = false;
    showAttributions(attributions, state.facts);
  } catch (error) {
    find("look-status").textContent = "";
    find("look").hidden = true;
    throw error;
  }
}

/** Saves the scores of all records as TSV. */
function save() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(state.scores.file());
  link.download = `${state.file.name.replace(/\.(gz|bgz)$/, "")}.scores.tsv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Returns the pasted text as a file. A sequence without a header becomes one record. */
function pastedFile() {
  const text = find("pasted").value.trim();
  if (!text) throw new Error("no sequences: paste some, or open a file");
  const isFile = /^[>@;]/.test(text);
  return new File([isFile ? `${text}\n` : `>pasted\n${text.replace(/\s+/g, "")}\n`], "pasted text");
}

function formatNumber(count) {
  return count.toLocaleString("en");
}

/** Wraps a function, and shows its errors on the page. */
function guarded(action) {
  return async (...values) => {
    find("error").hidden = true;
    try {
      await action(...values);
    } catch (error) {
      find("error").textContent = error.message;
      find("error").hidden = false;
      find("error").scrollIntoView({ block: "nearest" });
    }
  };
}

/** Calls an action with each selected or dropped file. */
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
find("score").addEventListener("click", guarded(() => score(pastedFile())));
find("stop").addEventListener("click", () => compute.stop());
find("before").addEventListener("click", () => turnPage(-1));
find("after").addEventListener("click", () => turnPage(1));
find("save").addEventListener("click", guarded(save));
guarded(loadPage)();
