"use strict";

// What scrolls can be reached by the keyboard in every browser, and only that.
const SCROLLERS = ".md-typeset__scrollwrap, .md-typeset pre > code, .md-typeset p:has(> img)";
// Plots of several panels have more pixels from left to right than this.
const WIDE = 1000;
// An option of a command, such as --out.
const OPTION = /\[?--[a-z][a-z-]*/g;

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

// No line ends within an option.
function keepOptionsWhole() {
  for (const code of document.querySelectorAll(".md-typeset :not(pre) > code")) {
    if (code.childElementCount) continue;
    code.innerHTML = code.innerHTML.replace(OPTION, '<span class="option">$&</span>');
  }
}

addEventListener("load", keepOptionsWhole);
addEventListener("load", markWidePlots);
addEventListener("load", markScrollers);
addEventListener("resize", markScrollers);
