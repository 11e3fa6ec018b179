/** A straight line, and how far the points are from it. */
interface Line {
  /** Where x is 0, and what each further 1 of x adds. */
  base: number
  slope: number
  /** Root of the mean square of the distances, in the unit of y. */
  residual: number
}

/** The line through points (x, y) by least squares; throws a RangeError unless there are two different x. */
export function fitLine(points: ReadonlyArray<readonly [x: number, y: number]>): Line {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))]
  const spread = mean(points.map(([x]) => (x - meanX) ** 2))
  if (!(spread > 0)) throw new RangeError('A line needs points at two different x')
  const slope = mean(points.map(([x, y]) => (x - meanX) * (y - meanY))) / spread
  const base = meanY - slope * meanX
  return { base, slope, residual: Math.sqrt(mean(points.map(([x, y]) => (y - base - slope * x) ** 2))) }
}
