/** Facts, counts and scores as parts of the page. */

import { best } from "./scores.js";

/** An element with a class and what it holds. */
export function make(name, looks, ...content) {
  const element = document.createElement(name);
  if (looks) element.className = looks;
  element.append(...content);
  return element;
}

const TASKS = {
  classify: "one class for each record",
  multilabel: "each class yes or no",
  regress: "numbers",
  custom: "outputs of the network",
};

const NAMES = { dna: "DNA", rna: "RNA", protein: "proteins" };

/** Shows what a model reads and says. */
export function showFacts(list, facts) {
  const length = facts.length === null ? "any" : facts.crops ? `${facts.length}, others are cut or padded` : `exactly ${facts.length}`;
  const lines = [
    ["Says", TASKS[facts.task]],
    ["Classes", facts.columns.join(", ")],
    ["Reads", NAMES[facts.alphabet] ?? facts.letters ?? "no letters"],
    ["Letters", length],
    ["Weights", `${(facts.weight_bytes / 1000).toLocaleString("en", { maximumFractionDigits: 0 })} kB, ${facts.operations} operations`],
  ];
  const known = lines.filter(([, value]) => value);
  list.replaceChildren(...known.flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]));
}

/** Shows how many records each class has. */
export function showSummary(list, { winners, columns, count }) {
  list.hidden = columns.length < 2 || count === 0;
  const item = (column, place) => {
    const share = (winners[place] ?? 0) / count;
    const [name, amount] = [make("span", "class", column), make("span", "count", (winners[place] ?? 0).toLocaleString("en"))];
    return make("li", "", name, bar(share, place), amount);
  };
  list.replaceChildren(...columns.slice(0, MOST).map(item));
}

/** So many classes have columns and bars of their own. */
const MOST = 8;

/** Shows some rows of scores; a row that is chosen is looked into. */
export function showTable(table, { scores, facts, chosen, rows, choose }) {
  const columns = scores.columns.slice(0, MOST);
  const isClass = facts.task === "classify" && columns.length > 1;
  const names = ["Record", ...(isClass ? ["Class"] : []), ...columns];
  const head = make("tr", "", ...names.map((name, place) => heading(name, place >= names.length - columns.length)));
  const body = make("tbody", "");
  for (let number = rows[0]; number < rows[1]; number += 1) {
    const line = { ...scores.row(number), number, columns, isClass, isUnit: facts.task === "classify" || facts.task === "multilabel" };
    body.append(row(line, { isChosen: number === chosen, choose: facts.can_look ? choose : null }));
  }
  table.replaceChildren(make("thead", "", head), body);
}

function heading(name, isScore) {
  const cell = make("th", isScore ? "score" : "", name);
  cell.scope = "col";
  return cell;
}

function row({ id, scores, number, columns, isClass, isUnit }, { isChosen, choose }) {
  const winner = best(scores.subarray(0, columns.length));
  const name = make("th", "id", choose ? button(id, number, choose) : id);
  name.scope = "row";
  const cells = columns.map((_, place) => score(scores[place], { place, isUnit, isBest: isClass && place === winner }));
  const label = isClass ? [make("td", "winner", swatch(winner), columns[winner])] : [];
  const line = make("tr", isChosen ? "chosen" : "", name, ...label, ...cells);
  if (isChosen) line.setAttribute("aria-current", "true");
  return line;
}

function button(id, number, choose) {
  const made = make("button", "link", id);
  made.type = "button";
  made.title = "Show where the model looked";
  made.addEventListener("click", () => choose(number));
  return made;
}

function score(value, { place, isUnit, isBest }) {
  const text = make("span", isBest ? "value best" : "value", isUnit ? value.toFixed(4) : String(Number(value.toPrecision(5))));
  return make("td", "score", text, ...(isUnit ? [bar(value, place)] : []));
}

/** A bar of a share of one, in the colour of a class. */
function bar(share, place) {
  const fill = make("span", `fill class-${place % MOST}`);
  fill.style.inlineSize = `${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%`;
  const made = make("span", "bar", fill);
  made.setAttribute("aria-hidden", "true");
  return made;
}

function swatch(place) {
  return make("span", `dot class-${place % MOST}`);
}
