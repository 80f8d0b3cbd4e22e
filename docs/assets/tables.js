// A table is sorted by a column when its head is clicked, the other way round the second time. Rows that are titles of those
// below them then say nothing, and go. A long name in a narrow column breaks after a dot or an underscore, and an option, or
// another short word with hyphens, nowhere.
for (const table of document.querySelectorAll("article table")) {
  const heads = [...table.querySelectorAll("th")];
  heads.forEach((head, column) => {
    head.setAttribute("aria-sort", "none");
    head.tabIndex = 0;
    const sort = () => {
      const order = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", order);
      const body = table.tBodies[0];
      const text = (row) => row.cells[column].textContent;
      const isTitle = (row) => heads.length > 1 && [...row.cells].slice(1).every((cell) => cell.textContent.trim() === "");
      for (const row of [...body.rows].filter(isTitle)) row.remove();
      const rows = [...body.rows].sort((a, b) => text(a).localeCompare(text(b), "en", { numeric: true }));
      body.append(...(order === "ascending" ? rows : rows.reverse()));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  });
}
const LONGEST = 36; // letters of a word that a phone shows on one line
const pieces = (text) => text.split(/(?<=[._])/).flatMap((part) => [part, document.createElement("wbr")]).slice(0, -1);
const whole = (word) => Object.assign(document.createElement("span"), { className: "whole", textContent: word });
for (const code of document.querySelectorAll("article :not(pre) > code")) {
  const isWhole = (word) => word.includes("-") && word.length <= LONGEST;
  const written = (word) => (isWhole(word) ? [whole(word)] : code.closest("td") ? pieces(word) : [word]);
  code.replaceChildren(...code.textContent.split(/(\s+)/).flatMap(written));
}
