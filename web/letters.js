/** Where the model looked: letters in the colour of their importance, and the axis of positions. */

import { best } from "./scores.js";
import { make } from "./tables.js";

/** So many letters are shown. */
const MOST = 6000;

/** So many of the strongest positions are named. */
const NAMED = 5;

/** The record that is shown, and how wide it was drawn. */
let shown = null;

/** Shows a record that was looked into. */
export function showLook(seen, facts) {
  shown = { seen, facts, width: 0 };
  const choice = document.getElementById("look-class");
  const options = seen.columns.map((column, place) => new Option(`${column} (${short(seen.scores[place])})`, String(place)));
  choice.replaceChildren(...options);
  choice.value = String(best(Float32Array.from(seen.scores)));
  choice.onchange = draw;
  draw();
}

/** Draws the letters for the class that is chosen. */
function draw() {
  const { seen } = shown;
  const column = Number(document.getElementById("look-class").value);
  const importance = (position) => seen.importances[Math.floor(position / seen.step) * seen.columns.length + column];
  const values = Array.from(seen.letters.slice(0, MOST), (_, position) => importance(position));
  const greatest = Math.max(...values.map(Math.abs), Number.MIN_VALUE);
  const box = document.getElementById("letters");
  shown.width = perLine(box);
  box.style.setProperty("--per-line", shown.width);
  box.replaceChildren(...lines(seen.letters, values.map((value) => value / greatest), values));
  name(seen, values, column);
}

/** How many letters fit into a line: a multiple of ten. */
function perLine(box) {
  const letter = parseFloat(getComputedStyle(box).fontSize) * 1.05;
  const fitting = Math.floor(box.clientWidth / letter / 10) * 10;
  return Math.min(60, Math.max(10, fitting));
}

/** Lines of letters, each below its axis. */
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

/** The numbers of every tenth position. */
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
  made.title = `position ${place + 1}, ${text}: ${short(value)}`;
  return made;
}

/** Says the same in words. */
function name(seen, values, column) {
  const { letters, step } = seen;
  const places = values.map((_, place) => place).filter((place) => place % step === 0);
  places.sort((one, other) => Math.abs(values[other]) - Math.abs(values[one]));
  const named = places.slice(0, NAMED).map((place) => {
    const until = Math.min(place + step, letters.length);
    const where = step === 1 ? `${place + 1} ${letters[place]}` : `${place + 1} to ${until}`;
    return `${where} (${values[place] < 0 ? "" : "+"}${short(values[place])})`;
  });
  const of = seen.columns[column];
  text("strongest", `Strongest positions for ${of}: ${named.join(", ")}.`);
  text("legend-for", `speaks for ${of}`);
  text("legend-against", "speaks against it");
  const covered = step === 1 ? "each position" : `every ${step} positions`;
  const cut = letters.length > MOST ? ` The first ${MOST} letters are shown.` : "";
  text("look-how", `How much lower the score is when ${covered} in turn becomes ${said(seen.cover)}. The deepest colour is the greatest change.${cut}`);
}

function said(cover) {
  return cover.length === 1 ? `the unknown letter ${cover}` : "each letter of the alphabet, on average";
}

function short(value) {
  return Math.abs(value) < 0.0005 && value !== 0 ? value.toExponential(1) : value.toFixed(3);
}

function text(id, content) {
  document.getElementById(id).textContent = content;
}

new ResizeObserver(([entry]) => {
  if (shown && entry.contentRect.width > 0 && perLine(entry.target) !== shown.width) draw();
}).observe(document.getElementById("letters"));
