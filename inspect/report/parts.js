// The parts of a call's time, as parts.go has them.

export const parts = {
  dispatch: "dispatch",
  io: "handing over",
  dma: "DMA",
  macs: "products",
  l2: "L2",
  cpu: "CPU",
};

// ordered puts what has names of parts into their order.
export const ordered = (list) => Object.keys(parts).flatMap((name) => list.filter((p) => p.name === name));
