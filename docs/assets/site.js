// What scrolls can be reached by the keyboard in every browser, and only that.
"use strict";

const SCROLLERS = ".md-typeset__scrollwrap, .md-typeset pre > code, .md-typeset p:has(> img)";
// Plots of several panels have more pixels from left to right than this.
const WIDE = 1000;

function markScrollers() {
  for (const box of document.querySelectorAll(SCROLLERS)) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

function markWidePlots() {
  for (const plot of document.querySelectorAll('.md-typeset img[src*="_files/"]')) {
    plot.classList.toggle("is-wide", plot.naturalWidth > WIDE);
  }
}

addEventListener("load", markWidePlots);
addEventListener("load", markScrollers);
addEventListener("resize", markScrollers);
