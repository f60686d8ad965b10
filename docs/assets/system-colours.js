// On a first visit, too, a page has the colours of the system from the beginning: without this the
// theme shows the light ones until all of its code is there.
"use strict";

try {
  const key = `${new URL("..", document.currentScript.src).pathname}.__palette`;
  const color = { media: "(prefers-color-scheme)" };
  if (!localStorage.getItem(key)) localStorage.setItem(key, JSON.stringify({ index: 0, color }));
} catch {
  // No storage, no memory of a choice.
}
