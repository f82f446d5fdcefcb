"""The explorer in a real browser: readable on a phone, usable with the keyboard, without complaints."""

from typing import Any

import pytest

import swaprank as sr
from tests.reporting import test_browser as report

browser, pytestmark = report.browser, report.pytestmark


def shown(browser: Any, url: str, width: int, dark: bool) -> None:
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(url)


def until(browser: Any, css: str) -> Any:
    return report.wait.WebDriverWait(browser, 30).until(lambda driver: driver.find_element("css selector", css))


def click(browser: Any, element: Any) -> None:
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
    browser.execute_script("arguments[0].click()", element)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False)])
def test_queries_pairs_and_edits(browser: Any, width: int, dark: bool) -> None:
    train, test = sr.datasets.random_net((40, 300), n_features=5, n_documents=12, levels=4, random_state=0)
    long = sr.Dataset(
        test.features,
        test.labels,
        qid=[f"query <b>{at // 12}</b> {'very' * 20} long" for at in range(len(test))],
        docid=[f"https://example.org/{at}?{'x' * 200}" for at in range(len(test))],
        feature_names=[f"feature_with_a_long_name_{'y' * 60}_{at}" for at in range(5)],
    )
    names = list(long.feature_names)
    ranker = sr.LambdaMART(n_trees=5).fit(
        sr.Dataset(train.features, train.labels, group=[12] * 40, feature_names=names)
    )
    keys = report.webdriver.Keys
    with sr.reporting.explore(long, {"new": ranker, "old": names[1]}, open_browser=False) as explorer:
        shown(browser, explorer.url, width, dark)
        until(browser, ".row .id")
        assert len(browser.find_elements("css selector", ".row")) < 60
        browser.find_element("id", "queries").send_keys(keys.END)
        until(browser, "#row-299[aria-selected='true'] .id")
        until(browser, ".r0 button.choose").send_keys(keys.ARROW_DOWN, keys.ENTER)
        until(browser, ".r0 tr.chosen")
        until(browser, "#document input")
        click(browser, browser.find_element("css selector", ".r0 button.choose"))
        until(browser, "#pair h3")
        field = until(browser, "#document input")
        field.send_keys("9", keys.ENTER)
        assert "rank" in until(browser, ".effect").text
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert browser.execute_script(report.CONTRASTS) == []
        assert browser.get_log("browser") == []
