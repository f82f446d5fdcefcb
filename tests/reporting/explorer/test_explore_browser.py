"""The explorer in a real browser: readable on a phone, usable with the keyboard, without complaints."""

from collections.abc import Iterator
from typing import Any

import pytest

import swaprank as sr
from tests.reporting import test_browser as report

browser, pytestmark = report.browser, report.pytestmark


N_QUERIES, N_DOCUMENTS = 120, 8


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    train, test = sr.datasets.random_net((20, N_QUERIES), n_features=5, n_documents=N_DOCUMENTS, random_state=0)
    names = [f"feature_with_a_long_name_{'y' * 60}_{at}" for at in range(5)]
    long = sr.Dataset(
        test.features,
        test.labels,
        qid=[f"query <b>{at // N_DOCUMENTS}</b> {'very' * 20} long" for at in range(len(test))],
        docid=[f"https://example.org/{at}?{'x' * 200}" for at in range(len(test))],
        feature_names=names,
        columns={"device": [("mobile", "desktop")[at // N_DOCUMENTS % 2] for at in range(len(test))]},
    )
    group = [N_DOCUMENTS] * 20
    trained = sr.LambdaMART(n_trees=3).fit(sr.Dataset(train.features, train.labels, group=group, feature_names=names))
    with sr.reporting.explore(long, {"new": trained, "old": names[1]}, open_browser=False) as explorer:
        yield explorer.url


def use_scheme(browser: Any, name: str) -> None:
    scheme = {"name": "prefers-color-scheme", "value": name}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def until(browser: Any, css: str) -> Any:
    return report.wait.WebDriverWait(browser, 30).until(lambda driver: driver.find_element("css selector", css))


def click(browser: Any, element: Any) -> None:
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
    browser.execute_script("arguments[0].click()", element)


@pytest.mark.parametrize("width", [1280, 390])
def test_queries_pairs_and_edits(browser: Any, url: str, width: int) -> None:
    keys = report.webdriver.Keys
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    use_scheme(browser, "light")
    browser.get(url)
    until(browser, ".row .id")
    assert len(browser.find_elements("css selector", ".row")) < 60
    browser.find_element("id", "queries").send_keys(keys.END)
    until(browser, f"#row-{N_QUERIES - 1}[aria-selected='true'] .id")
    until(browser, ".r0 button.choose").send_keys(keys.ARROW_DOWN, keys.ENTER)
    until(browser, ".r0 tr.chosen")
    until(browser, "#document input")
    click(browser, browser.find_element("css selector", ".r0 button.choose"))
    until(browser, "#pair h3")
    field = until(browser, "#document input")
    field.send_keys("9", keys.ENTER)
    assert "rank" in until(browser, ".effect").text
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    for scheme in ("light", "dark"):
        use_scheme(browser, scheme)
        assert browser.execute_script(report.CONTRASTS) == []
    browser.find_element("css selector", "select[data-segment='device'] option[value='mobile']").click()
    found = browser.find_element("id", "found")
    report.wait.WebDriverWait(browser, 30).until(lambda _: found.text == f"{N_QUERIES // 2} queries")
    assert browser.get_log("browser") == []
