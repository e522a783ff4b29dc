from .counting import CountSource, Records, tabulate
from .opening import open_records
from .scored import Scored
from .tuples import Tuples, Used

__all__ = ["CountSource", "Records", "Scored", "Tuples", "Used", "open_records", "tabulate"]
