from .report import Report as Report
