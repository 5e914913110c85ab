package fleettest

import (
	"testing"
	"time"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/campaign"
)

// Judge is internal/fleet/campaign on the messages of a fleet, as if brokers took no time: for what concerns
// verdicts only.
type Judge struct {
	*campaign.Engine
	// Told has each campaign as it was told of last, in the order in which they were told of first.
	Told []*campaign.Campaign
	// Messages and Bytes count what the sensors sent.
	Messages, Bytes uint64

	t    testing.TB
	byID map[string]int
}

// NewJudge returns a judge.
func NewJudge(t testing.TB, secret *fleet.Secret) *Judge {
	j := &Judge{t: t, byID: map[string]int{}}
	j.Engine = campaign.New(campaign.Options{Campaign: j.hear})
	return j
}

// hear keeps what is told of a campaign.
func (j *Judge) hear(c *campaign.Campaign) {
	x := *c
	x.Members = append([]campaign.Member(nil), c.Members...)
	i, isKnown := j.byID[c.ID]
	if !isKnown {
		i = len(j.Told)
		j.byID[c.ID] = i
		j.Told = append(j.Told, nil)
	}
	j.Told[i] = &x
}

// Take has the judge get a message as a line, delay after it was made.
func (j *Judge) Take(x *Sensor, m fleet.Message, now int64, delay time.Duration) {
	j.t.Helper()
	h := fleet.HeadOf(m)
	line, err := fleet.Encode(m)
	if err != nil {
		j.t.Fatal(err)
	}
	again, err := fleet.Parse(x.Host.Name, h.Kind, line)
	if err != nil {
		j.t.Fatalf("%s\nis refused: %v", line, err)
	}
	j.Messages++
	j.Bytes += uint64(len(line))
	j.Consume(again, now+int64(delay), now)
}
