"""`swaprank clicks info`: describe a click log."""

from swaprank.cli.common_options import AsJson, Figure, LogColumns, LogFile
from swaprank.cli.output import print_info, print_result


def clicks_info(log: LogFile, figure: Figure = None, json: AsJson = False, *, log_columns: LogColumns) -> None:
    """Describe a click log: sessions, queries, click rates by position, and how often documents changed places."""
    from swaprank.clicks.log_files import read_clicks
    from swaprank.rendering.figures import check_drawing, new_axes, save_figure

    if figure is not None:
        check_drawing(figure)
    summary = read_clicks(log, **{"features": [], **log_columns}).summarize()
    if figure is not None:
        save_figure(summary.plot(new_axes()), figure)
    print_result(summary.to_json() if json else str(summary))
    if figure is not None and not json:
        print_info(f"\n{figure}")
