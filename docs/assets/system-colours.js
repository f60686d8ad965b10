// Uses the colour scheme of the system from the first visit on. Without this script, the theme shows
// light colours until all of its code is loaded.
"use strict";

try {
  const key = `${new URL("..", document.currentScript.src).pathname}.__palette`;
  const color = { media: "(prefers-color-scheme)" };
  if (!localStorage.getItem(key)) localStorage.setItem(key, JSON.stringify({ index: 0, color }));
} catch {
  // Without storage, the theme cannot remember a choice.
}
