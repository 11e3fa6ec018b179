const UNIT = 2 ** 32

/** A number from 0 to 1, always the same for the same seed and turn, evenly spread over the turns. */
export function chance(seed: number, turn: number): number {
  let mixed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(turn + 1, 0xc2b2ae35)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b)
  return ((mixed ^ (mixed >>> 16)) >>> 0) / UNIT
}
