"""The page in a real browser: no errors, all charts visible, readable on a phone, usable with the keyboard."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr

webdriver = pytest.importorskip("selenium.webdriver", reason="Selenium is not installed")
wait = pytest.importorskip("selenium.webdriver.support.wait")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None or DRIVER is None, reason="there is no chromium with its driver (Debian: chromium-driver)"
    ),
]
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
WIDTHS = (1280, 768, 390)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    train, vali, test = sr.datasets.random_net((40, 20, 60), n_features=8, n_documents=15, levels=4, random_state=0)
    labels = np.array(test.labels)
    labels[: 5 * 15] = 0
    long = sr.Dataset(
        test.features,
        labels,
        qid=[f"query <b>{at // 15}</b> {'very' * 20} long" for at in range(len(test))],
        docid=[f"https://example.org/{at}?{'x' * 200}" for at in range(len(test))],
        feature_names=[f"feature_with_a_long_name_{'y' * 60}_{at}" for at in range(8)],
    )
    ranker = sr.LambdaMART(n_trees=20, n_leaves=7, min_docs_in_leaf=5).fit(
        train, valid={"vali": vali}, metrics=["ndcg@10", "map"]
    )
    path = tmp_path_factory.mktemp("page") / "report.html"
    sr.report(ranker, long, path, train=train, certify=True)
    return path


def show(browser: Any, page: Path, width: int, *, dark: bool = False) -> None:
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page.as_uri())
    # Forget the theme that an earlier test has chosen.
    browser.execute_script("localStorage.clear()")
    browser.get(page.as_uri())


BEYOND = """
return [...document.querySelectorAll("body *")]
    .filter((element) => !element.closest(".scroll, nav ul, .skip, thead, .name"))
    .filter((element) => element.getBoundingClientRect().right > arguments[0] + 1 && element.getClientRects().length)
    .map((element) => element.outerHTML.slice(0, 80));
"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_complains_and_nothing_overflows(browser: Any, page: Path, width: int, dark: bool) -> None:
    show(browser, page, width, dark=dark)
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(BEYOND, width) == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


METRICS = """
return [...document.querySelectorAll(".metrics tbody tr")].map((row) => [...row.cells].slice(1).map((cell) => {
    const { left, right, width, height } = cell.getBoundingClientRect();
    const title = getComputedStyle(cell, "::before").content;
    return { text: cell.innerText.trim(), title, left, right, width, height };
}));
"""


@pytest.mark.parametrize("width", WIDTHS)
def test_every_column_of_the_metrics_is_in_view(browser: Any, page: Path, width: int) -> None:
    """Without scrolling sideways, with the difference and p among them, and with their names."""
    show(browser, page, width)
    rows = browser.execute_script(METRICS)
    assert len(rows) == 4
    for row in rows:
        mean, _, baseline, difference, _, _, p = row
        for cell in row:
            assert 0 <= cell["left"] < cell["right"] <= width
            assert cell["height"] > 10
        assert difference["text"][0] in "+-"
        assert "." in p["text"]
        named = [cell["title"].strip('"') for cell in (mean, baseline, difference, p)]
        assert named == (["Mean", "Baseline", "Difference", "p"] if width < 1000 else ["none"] * 4)
    header = browser.find_element("css selector", ".metrics thead")
    assert (header.size["height"] > 10) == (width > 1000)
    assert browser.execute_script("const box = arguments[0].closest('.scroll'); return box.scrollWidth", header) < width


@pytest.mark.parametrize("width", WIDTHS)
def test_screen_readers_read_the_metrics_as_a_table(browser: Any, page: Path, width: int) -> None:
    show(browser, page, width)

    def read(driver: Any) -> list[tuple[str, str]]:
        nodes = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if "role" in node]

    # The browser makes what screen readers read some time after the page.
    whole = {("columnheader", "Difference"), ("columnheader", "p"), ("rowheader", "ndcg@10")}
    wait.WebDriverWait(browser, 30).until(lambda driver: whole <= set(read(driver)))
    assert sum(role == "cell" for role, _ in read(browser)) >= 4 * 7


def test_the_result_is_on_the_first_screen_of_a_phone(browser: Any, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(300, 3))
    labels = np.where(np.arange(300) < 50, 0, X[:, 0] > 0.5)
    data = sr.Dataset(X, labels, qid=np.arange(300) // 10)
    path = tmp_path / "report.html"
    sr.report(sr.LinearRegressionRanker().fit(data), data, path, baseline_feature="2")
    show(browser, path, 390)
    number, difference = browser.find_elements("css selector", ".figure .number")[:2]
    about = browser.find_element("css selector", ".headline .about")
    assert about.text.startswith("5 of 30 queries are without a relevant document: ndcg@10 counts them as 0")
    assert 0 < number.rect["y"] < difference.rect["y"] < about.rect["y"] < 900


@pytest.mark.parametrize("width", WIDTHS)
def test_lists_fill_the_width(browser: Any, page: Path, width: int) -> None:
    show(browser, page, width)
    content = browser.find_element("id", "lists").rect
    lists = [each.rect for each in browser.find_elements("css selector", "#lists article")]
    assert len(lists) == 3
    by_line: dict[int, list[Any]] = {}
    for each in lists:
        by_line.setdefault(round(each["y"]), []).append(each)
    assert [len(line) for line in by_line.values()] == {1280: [3], 768: [2, 1], 390: [1, 1, 1]}[width]
    for line in by_line.values():
        assert line[0]["x"] == pytest.approx(content["x"], abs=1)
        assert line[-1]["x"] + line[-1]["width"] == pytest.approx(content["x"] + content["width"], abs=1)


ARROWS = """
const arrowsOf = (list) => [...list.querySelectorAll(".arrow")];
return [...document.querySelectorAll("#lists article")].map((list) => arrowsOf(list).map((arrow) => {
    const row = arrow.closest("tr").getBoundingClientRect();
    const head = arrow.querySelector("path").getBoundingClientRect();
    const shaft = arrow.querySelector("line").getBoundingClientRect();
    return {
        force: Number(arrow.closest("td").innerText),
        length: head.left + head.width / 2 - shaft.left,
        isInside: head.left >= row.left && head.right <= row.right && head.top >= row.top && head.bottom <= row.bottom,
        shape: arrow.querySelector("path").getAttribute("d"),
        color: getComputedStyle(arrow.querySelector("path")).fill,
    };
}));
"""


@pytest.mark.parametrize("width", WIDTHS)
def test_arrows_can_be_told_apart(browser: Any, page: Path, width: int) -> None:
    """Each is in its row, points up or down, and is visibly longer than that of half the force."""
    show(browser, page, width)
    lists = browser.execute_script(ARROWS)
    shapes: dict[bool, set[tuple[str, str]]] = {True: set(), False: set()}
    for arrows in lists:
        strongest = max(abs(arrow["force"]) for arrow in arrows)
        for arrow in arrows:
            assert arrow["isInside"]
            shapes[arrow["force"] > 0].add((arrow["shape"], arrow["color"]))
            share = abs(arrow["force"]) / strongest
            assert arrow["length"] == pytest.approx(share**0.5 * max(a["length"] for a in arrows), abs=1.5)
        in_order = sorted(arrows, key=lambda arrow: abs(arrow["force"]))
        for at, weaker in enumerate(in_order):
            for stronger in in_order[at + 1 :]:
                if abs(stronger["force"]) >= max(2 * abs(weaker["force"]), 0.02 * strongest):
                    assert stronger["length"] >= weaker["length"] + 2
    (up,), (down,) = shapes.values()
    assert up[0] != down[0]
    assert up[1] != down[1]


@pytest.mark.parametrize("width", WIDTHS)
def test_every_chart_is_drawn(browser: Any, page: Path, width: int) -> None:
    show(browser, page, width)
    drawn = browser.execute_script(
        """
        return [...document.querySelectorAll("svg.draw")].map((chart) => {
            const boxes = [...chart.querySelectorAll("path, .bar, .dot:not(.hidden .dot)")]
                .map((mark) => mark.getBoundingClientRect())
                .filter((box) => box.width + box.height > 1);
            const whole = chart.getBoundingClientRect();
            return [
                chart.getAttribute("aria-label"), whole.width, whole.height, boxes.length,
                Math.max(...boxes.map((box) => box.right - whole.right)),
                Math.max(...boxes.map((box) => box.bottom - whole.bottom)),
            ];
        });
        """
    )
    assert len(drawn) == 15
    for words, chart_width, height, n_marks, right, below in drawn:
        assert len(words) > 20
        assert chart_width > 120, words
        assert height > 80, words
        assert n_marks > 0, words
        assert right < 8, words
        assert below < 8, words


@pytest.mark.parametrize("width", WIDTHS)
def test_no_number_is_cut(browser: Any, tmp_path: Path, width: int) -> None:
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 3, 60), -(10.0 ** rng.integers(-3, 9, 60)) * rng.random(60)
    data = sr.Dataset(rng.normal(size=(60, 2)), labels, qid=np.arange(60) // 20, base_score=scores)
    path = tmp_path / "report.html"
    sr.report(sr.LinearRegressionRanker().fit(data), data, path, metrics="dcg(gain=linear)", qids=[0, 1, 2])
    show(browser, path, width)
    cells = browser.execute_script(
        """
        const numbers = "#lists td:nth-child(4), #lists td:nth-child(5) span, .metrics td, .figure .number";
        return [...document.querySelectorAll(numbers)]
            .map((cell) => [cell.innerText, cell.scrollWidth, cell.clientWidth || cell.scrollWidth]);
        """
    )
    assert len(cells) > 100
    assert [cell for cell in cells if cell[1] > cell[2]] == []


def test_the_toggle_changes_the_theme_and_keeps_it(browser: Any, page: Path) -> None:
    show(browser, page, 1280)
    background = "return getComputedStyle(document.body).backgroundColor"
    light = browser.execute_script(background)
    button = browser.find_element("id", "theme")
    assert button.text == "Dark"
    button.click()
    assert browser.execute_script(background) != light
    assert button.text == "Light"
    browser.refresh()
    assert browser.execute_script(background) != light
    browser.find_element("id", "theme").click()
    assert browser.execute_script(background) == light


def point_at_nothing(browser: Any) -> None:
    actions = webdriver.ActionChains(browser)
    actions.w3c_actions.pointer_action.move_to_location(1, 1)
    actions.perform()


def test_pointing_shows_a_tip_as_text(browser: Any, page: Path) -> None:
    show(browser, page, 1280)
    mark = browser.find_element("css selector", "#queries circle.mark")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", mark)
    tip = browser.find_element("id", "tip")
    point_at_nothing(browser)
    assert not tip.is_displayed()
    webdriver.ActionChains(browser).move_to_element(mark).perform()
    assert tip.is_displayed()
    # Another dot may cover this one. In any case the tooltip names a query, with its markup as text.
    assert "query <b>" in tip.text
    point_at_nothing(browser)
    assert not tip.is_displayed()


def test_the_keyboard_steps_through_a_chart(browser: Any, page: Path) -> None:
    keys = webdriver.Keys
    show(browser, page, 1280)
    chart = browser.find_element("css selector", "#learning svg.draw")
    tip = browser.find_element("id", "tip")
    browser.execute_script("arguments[0].focus()", chart)
    webdriver.ActionChains(browser).send_keys(keys.ARROW_RIGHT, keys.ARROW_RIGHT).perform()
    assert tip.text.startswith("tree 2")
    webdriver.ActionChains(browser).send_keys(keys.END).perform()
    assert tip.text.startswith("tree 20")
    webdriver.ActionChains(browser).send_keys(keys.ESCAPE).perform()
    assert not tip.is_displayed()


def test_the_keyboard_steps_through_a_list(browser: Any, page: Path) -> None:
    keys = webdriver.Keys
    show(browser, page, 390)
    tip = browser.find_element("id", "tip")
    browser.execute_script("arguments[0].focus()", browser.find_element("css selector", "#lists table"))
    webdriver.ActionChains(browser).send_keys(keys.ARROW_DOWN, keys.ARROW_DOWN).perform()
    assert tip.text.startswith("rank 2: https://example.org/")
    webdriver.ActionChains(browser).send_keys(keys.ARROW_UP).perform()
    assert tip.text.startswith("rank 1: ")
    assert tip.rect["x"] >= 0
    assert tip.rect["x"] + tip.rect["width"] <= 390


def test_the_keyboard_reaches_everything(browser: Any, page: Path) -> None:
    """The link to the content is first, then the theme, the sections, and every chart, list and table; details open."""
    keys = webdriver.Keys
    show(browser, page, 1280)
    seen = []
    for _ in range(200):
        webdriver.ActionChains(browser).send_keys(keys.TAB).perform()
        seen.append(browser.execute_script("return document.activeElement.id || document.activeElement.hash || ''"))
        if browser.execute_script("return document.activeElement === document.body"):
            break
    assert seen[:3] == ["#content", "theme", "#metrics"]
    assert "#provenance" in seen
    focusable = browser.execute_script("return document.querySelectorAll('a, button, summary, [tabindex]').length")
    hidden = browser.execute_script("return document.querySelectorAll('details:not([open]) .scroll').length")
    assert len(seen) - 1 == focusable - hidden
    summary = browser.find_element("css selector", "#metrics summary")
    browser.execute_script("arguments[0].focus()", summary)
    webdriver.ActionChains(browser).send_keys(keys.ENTER).perform()
    assert browser.find_element("css selector", "#metrics dl.terms").is_displayed()


CONTRASTS = """
const parse = (color) => {
    const parts = color.match(/[\\d.]+/g).map(Number);
    return parts.length < 4 ? [...parts, 1] : parts;
};
const light = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const shine = ([r, g, b]) => 0.2126 * light(r / 255) + 0.7152 * light(g / 255) + 0.0722 * light(b / 255);
const poor = [];
for (const element of document.querySelectorAll("body *:not(script)")) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!hasText || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const ink = shine(parse(element instanceof SVGElement ? style.fill : style.color));
    let behind = element;
    while (behind.parentElement && !parse(getComputedStyle(behind).backgroundColor)[3]) behind = behind.parentElement;
    const paper = shine(parse(getComputedStyle(behind).backgroundColor));
    const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (contrast < 4.5) poor.push([element.tagName, element.textContent.slice(0, 30), contrast]);
}
return poor;
"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_text_has_enough_contrast(browser: Any, page: Path, width: int, dark: bool) -> None:
    """Every text has a contrast of at least 4.5 to 1 with its background (WCAG AA)."""
    show(browser, page, width, dark=dark)
    assert browser.execute_script(CONTRASTS) == []


def test_it_prints_dark_on_white(browser: Any, page: Path) -> None:
    show(browser, page, 1280, dark=True)
    browser.find_element("id", "theme").click()
    browser.find_element("id", "theme").click()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    colors = "const style = getComputedStyle(document.body); return [style.backgroundColor, style.color]"
    paper, ink = (sum(map(int, re.findall(r"\d+", color))) for color in browser.execute_script(colors))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert paper == 3 * 255
    assert ink < 100
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})
    assert len(printed["data"]) > 20_000
