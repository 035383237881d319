"""What Tests/compare measures: this module beside Debian's own, each figure a ratio.

`figures` is what a figure is, `peers` what it is compared with. Each section of the report has a file of its own, in
the order of SECTIONS; `report` puts them together, and `words` and `picture` show them.
"""
