package main

import (
	"math/rand/v2"
	"time"

	"qsniff/internal/test/testpcap"
)

const (
	serverNet  = 198<<24 | 18<<16 // 198.18.0.0, the benchmark range of RFC 2544
	clientNet  = 10<<24 | 64<<16  // 10.64.0.0
	serverPort = 27015
)

var infoRequest = []byte("\xff\xff\xff\xffTSource Engine Query\x00")

// flood is one attack: the plain 25-byte request from random sources. Time to
// live and source ports vary as in attacks of many machines that forge addresses.
type flood struct {
	rng   *rand.Rand
	frame *assembler
	clock pace
}

func newFlood(o options) *flood {
	return &flood{rng: newRand(o.seed), frame: newAssembler(), clock: newPace(o.rate)}
}

func (f *flood) next() (int64, []byte) {
	src := endpoint{drawSource(f.rng), uint16(1024 + f.rng.IntN(65_536-1024))}
	dst := endpoint{serverNet + 1, serverPort}
	ttl := byte(40 + f.rng.IntN(81))
	return f.clock.advance(f.rng), f.frame.buildUDP(src, dst, ttl, infoRequest)
}

// drawSource returns a random address that a router would forward: 1.0.0.0 to
// 223.255.255.255 without 127.0.0.0/8.
func drawSource(rng *rand.Rand) uint32 {
	for {
		first := 1 + rng.Uint32N(223)
		if first != 127 {
			return first<<24 | rng.Uint32N(1<<24)
		}
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// pace is a clock whose steps have a mean length, in nanoseconds.
type pace struct {
	now, mean int64
}

func newPace(rate int) pace {
	return pace{now: testpcap.Start, mean: int64(time.Second) / int64(rate)}
}

// advance advances the clock by 0.5 to 1.5 times the mean, and returns its time.
func (p *pace) advance(rng *rand.Rand) int64 {
	p.now += p.mean/2 + rng.Int64N(p.mean+1)
	return p.now
}
