// What scrolls can be reached by the keyboard in every browser, and only that.
"use strict";

function markScrollers() {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

addEventListener("load", markScrollers);
addEventListener("resize", markScrollers);
