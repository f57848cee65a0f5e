"""The script of the report: it sorts and searches the table of arms. Without it the page reads as well."""

from __future__ import annotations

SCRIPT = """
(function () {
  "use strict";
  var table = document.getElementById("arms-table");
  if (!table || !table.tBodies.length) { return; }
  var body = table.tBodies[0], rows = Array.prototype.slice.call(body.rows);
  var tools = document.getElementById("arms-tools"), box = tools.querySelector("input");
  var count = tools.querySelector("output"), heads = table.querySelectorAll("th[data-sort]");
  function number(text) { return text.trim() === "" ? NaN : Number(text.replace(/,/g, "")); }
  function compared(a, b) {
    var x = number(a), y = number(b);
    if (!isNaN(x) && !isNaN(y)) { return x - y; }
    if (isNaN(x) !== isNaN(y)) { return isNaN(x) ? 1 : -1; }
    return a.localeCompare(b, undefined, { numeric: true });
  }
  function cell(row, place) { return row.cells[place].textContent; }
  function sort(head) {
    var place = Number(head.getAttribute("data-sort"));
    var first = head.getAttribute("data-first") || "ascending";
    var other = first === "ascending" ? "descending" : "ascending";
    var way = head.getAttribute("aria-sort") === first ? other : first;
    heads.forEach(function (one) { one.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", way);
    var keyed = rows.map(function (row, order) { return [cell(row, place), order, row]; });
    keyed.sort(function (a, b) {
      var empty = (a[0].trim() === "") - (b[0].trim() === "");
      var found = compared(a[0], b[0]);
      return empty || (way === "ascending" ? found : -found) || a[1] - b[1];
    });
    keyed.forEach(function (one) { body.appendChild(one[2]); });
  }
  function search() {
    var wanted = box.value.trim().toLowerCase(), seen = 0;
    var group = /^group (\\d+)$/.exec(wanted);
    rows.forEach(function (row) {
      var fits = group ? cell(row, 1).trim() === group[1] : cell(row, 0).toLowerCase().indexOf(wanted) >= 0;
      row.hidden = !fits;
      seen += fits ? 1 : 0;
    });
    count.textContent = seen.toLocaleString("en") + " of " + rows.length.toLocaleString("en") + " arms";
  }
  heads.forEach(function (head) {
    var button = document.createElement("button");
    button.type = "button";
    while (head.firstChild) { button.appendChild(head.firstChild); }
    head.appendChild(button);
    button.addEventListener("click", function () { sort(head); });
  });
  box.addEventListener("input", search);
  document.querySelectorAll("a[data-group]").forEach(function (link) {
    link.addEventListener("click", function () { box.value = "group " + link.getAttribute("data-group"); search(); });
  });
  tools.hidden = false;
  search();
})();
"""
