package hostset

// MaxNetworks is how many addresses and networks a list of Networks has at most. Chosen: more than
// any service that polls has probes, and 12 steps to look one up.
const MaxNetworks = 4096

// widestV4 and widestV6 are the bits of the widest networks that a list of Networks may have. Chosen:
// 10.0.0.0/8 is somebody's own, and what is wider is a part of the Internet.
const widestV4, widestV6 = 8, 16
