"""Writes documents as people's programs do, and broken and hostile ones."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

import docx
import openpyxl
from fpdf import FPDF
from PIL import Image

Rows = Sequence[Sequence[object]]


def pdf(pages: Sequence[str], password: str | None = None) -> bytes:
    """A page for each text; its lines are wrapped."""
    document = FPDF()
    document.set_font("helvetica", size=11)
    if password is not None:
        document.set_encryption(owner_password=password + "-owner", user_password=password)
    for text in pages:
        document.add_page()
        document.multi_cell(0, text=text)
    return bytes(document.output())


def columns_pdf(title: str, left: Sequence[str], right: Sequence[str]) -> bytes:
    """One page with two columns of lines below a title."""
    document = FPDF()
    document.add_page()
    document.set_font("helvetica", size=9)
    document.text(20, 15, title)
    for x, lines in ((15, left), (110, right)):
        for number, line in enumerate(lines):
            document.text(x, 25 + 5 * number, line)
    return bytes(document.output())


def scan_pdf(pages: int, texts: Sequence[str] = ()) -> bytes:
    """Pages that are pictures, after pages with texts."""
    document = FPDF()
    document.set_font("helvetica", size=11)
    for text in texts:
        document.add_page()
        document.multi_cell(0, text=text)
    for shade in range(pages):
        document.add_page()
        document.image(Image.new("L", (40, 60), color=shade % 256), w=150)
    return bytes(document.output())


def long_pdf(pages: int) -> bytes:
    """A PDF of very many pages, written object by object, as no library writes it fast enough."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>"
        % (pages, b" ".join(b"%d 0 R" % (4 + 2 * page) for page in range(pages))),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for page in range(pages):
        text = b"BT /F1 12 Tf 50 700 Td (This is page %d of the long book.) Tj ET" % (page + 1)
        objects += [
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents %d 0 R"
            b"/Resources<</Font<</F1 3 0 R>>>>>>" % (5 + 2 * page),
            b"<</Length %d>>stream\n%s\nendstream" % (len(text), text),
        ]
    out = io.BytesIO(b"%PDF-1.4\n")
    out.seek(0, io.SEEK_END)
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj%sendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    out.write(b"trailer<</Size %d/Root 1 0 R>>\n" % (len(objects) + 1))
    out.write(b"startxref\n%d\n%%%%EOF" % start)
    return out.getvalue()


def word(title: str, paragraphs: Iterable[str], rows: Rows = ()) -> bytes:
    """A Word document: a heading, paragraphs, a table."""
    document = docx.Document()
    document.add_heading(title)
    for text in paragraphs:
        document.add_paragraph(text)
    if rows:
        table = document.add_table(rows=0, cols=len(rows[0]))
        for row in rows:
            for cell, value in zip(table.add_row().cells, row, strict=True):
                cell.text = str(value)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def workbook(sheets: dict[str, Rows]) -> bytes:
    """A spreadsheet with the sheets that are given."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def news_page(title: str, story: str, tracker: str) -> str:
    """The page of a newspaper, with all that surrounds a story; ends of elements are left out."""
    return f"""<!doctype html><html lang=en><head><meta charset=utf-8><title>{title} | The Gazette
</title><style>body {{ color: red }}</style><script>var tracker = "{tracker}";</script></head>
<body><nav><ul><li><a href="/">Home</a><li><a href="/sport">Sport</a></ul></nav>
<main><article><h1>{title}</h1><p class=byline onclick="alert('{tracker}')">By <b>Ana Reis</b>
<p>{story}<ul><li>first point<li>second point</ul>
<table><tr><th>Day<th>Level<tr><td>Monday<td>3.20 m<tr><td>Tuesday<td>4.10 m</table>
<img src="https://ads.example/{tracker}.gif" alt=""><iframe src="https://ads.example/">{tracker}
</iframe></article></main><noscript>{tracker}</noscript><div hidden>{tracker}</div></body></html>"""


def archive(members: dict[str, bytes | str]) -> bytes:
    """A zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in members.items():
            zipped.writestr(name, content)
    return out.getvalue()


def book(chapters: Sequence[str]) -> bytes:
    """An EPUB whose chapters stand in another order in the archive than in its spine."""
    items = "".join(
        f'<item id="c{number}" href="text/c%20{number}.xhtml" media-type="application/xhtml+xml"/>'
        for number in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{number}"/>' for number in range(len(chapters)))
    pages = {
        f"OEBPS/text/c {number}.xhtml": '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/'
        f'xhtml"><head><title>The book</title></head><body><p>{text}</p></body></html>'
        for number, text in reversed(list(enumerate(chapters)))
    }
    return archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<?xml version="1.0"?><container><rootfiles>'
            '<rootfile full-path="OEBPS/content.opf"/></rootfiles></container>',
            **pages,
            "OEBPS/content.opf": f'<?xml version="1.0"?><opf:package xmlns:opf="o"><manifest>'
            f"{items}</manifest><opf:spine>{spine}</opf:spine></opf:package>".replace(
                "<item ", "<opf:item "
            ).replace("<itemref", "<opf:itemref"),
        }
    )


def word_archive(body: str, doctype: str = "") -> bytes:
    """A Word document whose text is given as XML, for what no program would write."""
    space = "http://schemas.openxmlformats.org"
    return archive(
        {
            "[Content_Types].xml": f'<Types xmlns="{space}/package/2006/content-types"><Override '
            'PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-'
            'officedocument.wordprocessingml.document.main+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{space}/package/2006/relationships">'
            f'<Relationship Id="r" Type="{space}/officeDocument/2006/relationships/officeDocument"'
            ' Target="word/document.xml"/></Relationships>',
            "word/document.xml": f'<?xml version="1.0"?>{doctype}<w:document '
            f'xmlns:w="{space}/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>{body}</w:t>'
            "</w:r></w:p></w:body></w:document>",
        }
    )


def save_folders(folder: Path, count: int) -> list[Path]:
    """Folders in a folder, each of five documents of five kinds with a word of its own."""
    paths = []
    for number in range(count):
        word_of_its_own = f"kumquat{number}"
        left = [f"Ships came in year {year} to the harbour." for year in range(20)]
        right = [f"Bread of {word_of_its_own} rose in hour {hour}." for hour in range(20)]
        rows = [["Who", "What"], ["Ana", f"asks {word_of_its_own}"], ["Ben", "pays"]]
        items = [[f"item {row}", row * 1.5, date(2026, 1, 1)] for row in range(60)]
        costs: Rows = [["Item", "Euros", "Paid on"], *items, [f"for {word_of_its_own}", 9, ""]]
        page = news_page(f"Flood {number}", f"Said {word_of_its_own}.", "secretTracker")
        contents = {
            "lease.pdf": pdf([f"Lease {number}.", f"The tenant {word_of_its_own} got two keys."]),
            "paper.pdf": columns_pdf(f"On harbours {number}", left, right),
            "minutes.docx": word(f"Minutes {number}", ["The roofer comes in May."], rows),
            "news.html": page.encode(),
            "budget.xlsx": workbook({"Costs": costs}),
        }
        for name, content in contents.items():
            path = folder / f"{number}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            paths.append(path)
    return paths
