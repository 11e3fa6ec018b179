/**
 * How many of `partitions` the copy named `copy` should hold, so that all copies hold the same number within
 * one; the earlier names take what is left over. A copy that is not on the list holds none.
 */
export function fairShare(options: { partitions: number; instances: string[]; instance: string }): number {
  const { partitions, instances, instance } = options
  const position = [...instances].sort().indexOf(instance)
  if (position < 0) return 0
  return Math.floor(partitions / instances.length) + (position < partitions % instances.length ? 1 : 0)
}
