/**
 * How many of `partitions` the instance named `instance` should have, so that all instances have the same number within
 * one; the earlier names take what is left over. An instance that is not on the list has none.
 */
export function fairShare(options: { partitions: number; instances: string[]; instance: string }): number {
  const { partitions, instances, instance } = options
  const position = [...instances].sort().indexOf(instance)
  if (position < 0) return 0
  return Math.floor(partitions / instances.length) + (position < partitions % instances.length ? 1 : 0)
}
