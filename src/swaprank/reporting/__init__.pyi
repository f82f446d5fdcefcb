from .explorer.server import Explorer as Explorer
from .explorer.server import explore as explore
from .report import Report as Report
