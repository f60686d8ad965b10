// The search index is larger than any page, so the browser loads it only when the user starts a search.
"use strict";

{
  const used = new Promise((resolve) => {
    if (new URLSearchParams(location.search).has("q")) resolve();
    addEventListener("keydown", resolve, { capture: true, once: true });
    for (const kind of ["pointerover", "focusin", "click"]) {
      const look = ({ target }) => target.closest?.(".md-search, [for=__search]") && resolve();
      addEventListener(kind, look, { capture: true });
    }
  });
  const { open, send } = XMLHttpRequest.prototype;

  XMLHttpRequest.prototype.open = function (method, url, ...rest) {
    this.isIndex = new URL(url, location).pathname.endsWith("/search.json");
    open.call(this, method, url, ...rest);
  };

  XMLHttpRequest.prototype.send = function (body) {
    if (this.isIndex) used.then(() => send.call(this, body));
    else send.call(this, body);
  };
}
