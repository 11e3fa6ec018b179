/**
 * How many of `partitions` the copy named `copy` should hold, so that all copies hold the same number within
 * one; the earlier names take what is left over. A copy that is not on the list holds none.
 */
export function fairShare(options: { partitions: number; copies: string[]; copy: string }): number {
  const { partitions, copies, copy } = options
  const position = [...copies].sort().indexOf(copy)
  if (position < 0) return 0
  return Math.floor(partitions / copies.length) + (position < partitions % copies.length ? 1 : 0)
}
