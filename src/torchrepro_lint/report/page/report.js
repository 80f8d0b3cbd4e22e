"use strict";
(() => {
  const main = document.querySelector("main");
  const form = document.querySelector("form");
  const count = document.querySelector("output");
  const articles = [...document.querySelectorAll("article")];
  const words = new Map(articles.map((article) => [article, article.textContent.toLowerCase()]));

  const groupOf = (article, view) =>
    view === "program" ? JSON.parse(article.dataset.programs).join(", ") : article.dataset[view];

  function regroup() {
    const view = form.elements.view.value;
    const groups = new Map();
    for (const article of articles) {
      const name = groupOf(article, view);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(article);
    }
    main.replaceChildren(
      ...[...groups.keys()].sort().map((name) => {
        const section = document.createElement("section");
        const title = document.createElement("h2");
        title.textContent = name;
        section.append(title, ...groups.get(name));
        return section;
      }),
    );
    filter();
  }

  function filter() {
    const wanted = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const article of articles) {
      const fits =
        ["rule", "level", "certainty"].every((key) => !form.elements[key].value || form.elements[key].value === article.dataset[key]) &&
        wanted.every((word) => words.get(article).includes(word));
      article.hidden = !fits;
      shown += fits;
    }
    for (const section of main.children) section.hidden = !section.querySelector("article:not([hidden])");
    count.textContent = `${shown} of ${articles.length} shown`;
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", filter);
  form.elements.view.addEventListener("change", regroup);
  form.hidden = false;
  regroup();
})();
