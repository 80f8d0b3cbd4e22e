// A table is sorted by a column when its head is clicked, the other way round the second time. Rows that are titles of those
// below them then say nothing, and go. A long name in a narrow column breaks after a dot or an underscore.
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
for (const code of document.querySelectorAll("article td code")) {
  const [first, ...rest] = code.textContent.split(/(?<=[._])/);
  code.replaceChildren(first, ...rest.flatMap((part) => [document.createElement("wbr"), part]));
}
