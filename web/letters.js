/** The attributions of a record: residues in the colour of their importance, and an axis of positions. */

import { best } from "./scores.js";
import { make } from "./tables.js";

/** Maximum number of residues on the page. */
const MAX_RESIDUES = 6000;

/** Number of strongest positions in the text. */
const LISTED_POSITIONS = 5;

/** The displayed record, its model, and the number of residues per line. */
let shown = null;

/** Shows the attributions of a record. */
export function showAttributions(seen, facts) {
  shown = { seen, facts, width: 0 };
  const choice = document.getElementById("look-class");
  const options = seen.columns.map((column, place) => new Option(`${column} (${format(seen.scores[place])})`, String(place)));
  choice.replaceChildren(...options);
  choice.value = String(best(Float32Array.from(seen.scores)));
  choice.onchange = draw;
  draw();
}

/** Draws the residues, coloured for the selected class. */
function draw() {
  const { seen } = shown;
  const column = Number(document.getElementById("look-class").value);
  const importance = (position) => seen.importances[Math.floor(position / seen.step) * seen.columns.length + column];
  const values = Array.from(seen.letters.slice(0, MAX_RESIDUES), (_, position) => importance(position));
  const greatest = Math.max(...values.map(Math.abs), Number.MIN_VALUE);
  const box = document.getElementById("letters");
  shown.width = residuesPerLine(box);
  box.style.setProperty("--per-line", shown.width);
  box.replaceChildren(...lines(seen.letters, values.map((value) => value / greatest), values));
  describe(seen, values, column);
}

/** Returns the number of residues that fit on a line, as a multiple of ten. */
function residuesPerLine(box) {
  const letter = parseFloat(getComputedStyle(box).fontSize) * 1.05;
  const fitting = Math.floor(box.clientWidth / letter / 10) * 10;
  return Math.min(60, Math.max(10, fitting));
}

/** Creates the lines of residues, each below its axis. */
function lines(letters, weights, values) {
  const made = [];
  for (let start = 0; start < values.length; start += shown.width) {
    const end = Math.min(start + shown.width, values.length);
    const places = Array.from({ length: end - start }, (_, place) => start + place);
    const cells = places.map((place) => letter(letters[place], { place, weight: weights[place], value: values[place] }));
    made.push(make("div", "line", axis(start, end), ...cells));
  }
  return made;
}

/** Creates an axis that labels every tenth position. */
function axis(start, end) {
  const ticks = [];
  for (let place = start; place < end; place += 10) ticks.push(make("span", "tick", String(place + 1)));
  const made = make("div", "axis", ...ticks);
  made.setAttribute("aria-hidden", "true");
  return made;
}

function letter(text, { place, weight, value }) {
  const made = make("span", weight < 0 ? "letter against" : "letter for", text);
  made.style.setProperty("--weight", Math.abs(weight).toFixed(3));
  made.title = `position ${place + 1}, ${text}: ${format(value)}`;
  return made;
}

/** Describes the strongest positions and the colours in words. */
function describe(seen, values, column) {
  const { letters, step } = seen;
  const places = values.map((_, place) => place).filter((place) => place % step === 0);
  places.sort((one, other) => Math.abs(values[other]) - Math.abs(values[one]));
  const named = places.slice(0, LISTED_POSITIONS).map((place) => {
    const until = Math.min(place + step, letters.length);
    const where = step === 1 ? `${place + 1} ${letters[place]}` : `${place + 1} to ${until}`;
    return `${where} (${values[place] < 0 ? "" : "+"}${format(values[place])})`;
  });
  const of = seen.columns[column];
  text("strongest", `Strongest positions for ${of}: ${named.join(", ")}.`);
  text("legend-for", `raises the score of ${of}`);
  text("legend-against", "lowers the score");
  const covered = step === 1 ? "a residue" : `${step} neighbouring residues`;
  const cut = letters.length > MAX_RESIDUES ? ` The page shows the first ${MAX_RESIDUES} residues.` : "";
  text("look-how", `The decrease of the score if ${covered} ${step === 1 ? "is" : "are"} replaced by ${describeMask(seen.cover)}. The strongest colour is the largest change.${cut}`);
}

function describeMask(cover) {
  return cover.length === 1 ? `${cover} (unknown)` : "each residue of the alphabet, on average";
}

function format(value) {
  return Math.abs(value) < 0.0005 && value !== 0 ? value.toExponential(1) : value.toFixed(3);
}

function text(id, content) {
  document.getElementById(id).textContent = content;
}

new ResizeObserver(([entry]) => {
  if (shown && entry.contentRect.width > 0 && residuesPerLine(entry.target) !== shown.width) draw();
}).observe(document.getElementById("letters"));
