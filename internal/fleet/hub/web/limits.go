package web

const (
	// sensorSeries is how many sensors have metrics of their own, the first by name; the sums have all.
	// Chosen: four series each.
	sensorSeries = 1000
	// sensorRows is how many sensors the page lists, those with something wrong first; /sensors.json
	// has all. Chosen: 200 KiB.
	sensorRows = 500
	// closedRows is how many campaigns that are over the page lists.
	closedRows = 20
	// memberRows is how many members of a campaign it lists.
	memberRows = 12
)
