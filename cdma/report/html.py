"""What all HTML pages share: the document with its style, and tables. A page is one file that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

__all__ = ["document", "html_table"]

_LONG = 40  # letters from which on a cell is broken into lines
_STYLE = """\
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 1100px; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.6rem; margin-bottom: .3rem } h2 { font-size: 1.25rem; margin: 2.2rem 0 .3rem }
h3 { font-size: 1rem; margin: 1rem 0 0 } p, ul { max-width: 46rem } p { margin: .5rem 0 }
ul { padding-left: 1.2rem } li { margin: .3rem 0 } li::marker { color: #0072b2 } code { font-size: .9em }
.lead { background: #f3f7fb; border-left: 4px solid #0072b2; padding: .6rem 1rem; max-width: none }
.lead ul { margin: 0; max-width: none }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: .5rem }
.tiles div { background: #f3f7fb; border-radius: 6px; padding: .5rem .8rem }
.tiles dt { font-size: .8rem; color: #555 } .tiles dd { margin: 0; font-size: 1.3rem; font-weight: 600 }
.plots { display: flex; flex-wrap: wrap; gap: .8rem 1.5rem; margin-top: .6rem }
.columns { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 320px), 1fr)); gap: .5rem 2rem }
.columns svg { width: 100%; max-width: 460px; height: auto } .columns .many { grid-column: 1 / -1 }
.small { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: .8rem;
  align-items: end }
.small svg { width: 100%; max-width: 200px; height: auto }
figure { margin: .6rem 0; max-width: 100% } figure:not(.many), figure svg, .kept { break-inside: avoid }
figcaption { font-weight: 600; font-size: .9rem } figcaption, .legend { break-after: avoid }
svg { display: block; max-width: 100%; font-family: inherit } svg text { fill: #1a1a1a }
svg text.title { font-weight: 600 } svg text.value { font-size: 10px; fill: #555 }
svg text.name { paint-order: stroke; stroke: #fff; stroke-width: 4px }
svg line.grid { stroke: #ddd } svg line.mark { stroke: #000; stroke-width: 1.5 }
.legend { font-size: .85rem; margin: .4rem 0 } .key { margin-right: 1rem; white-space: nowrap }
.key i { display: inline-block; width: .8em; height: .8em; margin-right: .35em }
.key i.mark { width: 2px; background: #000 }
.wide { overflow-x: auto; margin: .7rem 0; background:
  linear-gradient(to right, #fff 20px, #fff0) left / 40px 100% no-repeat local,
  linear-gradient(to left, #fff 20px, #fff0) right / 40px 100% no-repeat local,
  linear-gradient(to right, #0003, #0000) left / 8px 100% no-repeat scroll,
  linear-gradient(to left, #0003, #0000) right / 8px 100% no-repeat scroll }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums }
caption { text-align: left; font-weight: 600; padding: .2rem 0 }
th, td { padding: .25rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #e5e5e5 }
th { border-bottom: 1px solid #999; vertical-align: bottom; white-space: normal }
.left { text-align: left } td.long { white-space: normal; min-width: 14rem; overflow-wrap: anywhere }
@media (max-width: 600px) { td.left { white-space: normal; min-width: 6rem } td.long { min-width: 12rem } }
@media print { body { max-width: none; padding: 0; font-size: 10pt } .wide { overflow: visible; background: none }
  table { font-size: 7.5pt } th, td { padding: .1rem .3rem; white-space: normal } h2, h3 { break-after: avoid }
  tr { break-inside: avoid } * { -webkit-print-color-adjust: exact; print-color-adjust: exact } }"""


def document(title: str, body: str) -> str:
    """An HTML file.

    Parameters
    ----------
    title
        In the browser's tab.
    body
        What it shows, as HTML; the classes that it can use are those of the style above.
    """
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(title)}</title>\n<style>\n{_STYLE}\n</style></head><body>\n{body}\n</body></html>\n")


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,), title: str = "",
               inline: Callable[[str], str] = escape) -> str:
    """A table that scrolls sideways where it has no room.

    Parameters
    ----------
    head, rows
        Cells in words.
    left
        Numbers of the columns that are set flush left.
    title
        Written above it, empty for none.
    inline
        Makes HTML of the words of a cell.
    """
    def cell(kind: str, column: int, text: str) -> str:
        names = " ".join(name for name, on in (("left", column in left), ("long", len(text) > _LONG)) if on)
        return f'<{kind} class="{names}">{inline(text)}</{kind}>' if names else f"<{kind}>{inline(text)}</{kind}>"

    def row(kind: str, cells: Sequence[str]) -> str:
        return f"<tr>{''.join(cell(kind, column, text) for column, text in enumerate(cells))}</tr>"

    caption = f"<caption>{escape(title)}</caption>" if title else ""
    return (f'<div class="wide"><table>{caption}<thead>{row("th", head)}</thead>'
            f"<tbody>{''.join(row('td', cells) for cells in rows)}</tbody></table></div>")
