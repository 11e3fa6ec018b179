import { useMemo } from 'preact/hooks'
import { Chart } from '../components/chart.tsx'
import type { Counts, Traffic } from '../traffic.ts'

const PERIOD_MS = { minute: 60_000, hour: 3_600_000 }

/** What came in, left, arrived and was given up, by the minute or by the hour. */
export function TrafficChart({ traffic }: { traffic: Traffic }) {
  const changed = JSON.stringify([traffic.from, traffic.periods])
  // The same periods are drawn once, though each response is another object.
  const { times, series } = useMemo(() => seriesOf(traffic), [changed])
  const period = traffic.by === 'hour' ? 'an hour' : 'a minute'
  return <Chart label={`Messages ${period}`} times={times} series={series} />
}

function seriesOf({ from, by, periods }: Traffic) {
  const found = new Map(periods.map((period) => [new Date(period.at).getTime(), period]))
  const times: number[] = []
  for (let at = new Date(from).getTime(); at <= Date.now(); at += PERIOD_MS[by]) times.push(at)
  const valuesOf = (value: (counts: Counts) => number) =>
    times.map((at) => {
      const period = found.get(at)
      return period === undefined ? 0 : value(period)
    })
  return {
    times: times.map((at) => at / 1_000),
    series: [
      { name: 'Accepted', color: 'chart-1', values: valuesOf(({ accepted }) => accepted) },
      { name: 'Sent or done', color: 'chart-4', values: valuesOf(({ sent, done }) => sent + done) },
      { name: 'Delivered', color: 'chart-2', values: valuesOf(({ delivered }) => delivered) },
      {
        name: 'Dead, failed or unrouted',
        color: 'chart-3',
        values: valuesOf(({ dead, failed, unrouted }) => dead + failed + unrouted),
      },
    ],
  }
}
