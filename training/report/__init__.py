"""From raw measurements to `report.json`, `report.html` and the drawing of the rack. Imports no torch."""
