"use strict";

// Elements that scroll get the keyboard focus in every browser; elements that fit do not.
const SCROLLERS = ".md-typeset__scrollwrap, .md-typeset pre > code, .md-typeset p:has(> img)";
// Width in pixels above which a plot has several panels.
const WIDE = 1000;
// A command-line option, such as --out.
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

// Prevents line breaks within an option.
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
