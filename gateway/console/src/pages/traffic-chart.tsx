import { useEffect, useMemo, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { clockTime, count, shortDay } from '../format.ts'
import { t } from '../language.ts'
import type { Counts, Traffic } from '../traffic.ts'

const HEIGHT = 220

const summaryOf = (series: Series[]): string =>
  series.map(({ name, values }) => `${name} ${count(values.reduce((sum, each) => sum + each, 0))}`).join(', ')

const PERIOD_MS = { minute: 60_000, hour: 3_600_000 }

/** A chart of messages received, sent, delivered and given up, by the minute or by the hour. */
export default function TrafficChart({ traffic }: { traffic: Traffic }) {
  const changed = JSON.stringify([traffic.from, traffic.periods])
  // The same periods are drawn once, though each response is another object.
  const { times, series } = useMemo(() => seriesOf(traffic), [changed])
  return (
    <Chart
      label={traffic.by === 'hour' ? t('Messages an hour') : t('Messages a minute')}
      times={times}
      series={series}
    />
  )
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
      { name: t('Accepted'), color: 'chart-1', values: valuesOf(({ accepted }) => accepted) },
      { name: t('Sent or done'), color: 'chart-4', values: valuesOf(({ sent, done }) => sent + done) },
      { name: t('Delivered'), color: 'chart-2', values: valuesOf(({ delivered }) => delivered) },
      {
        name: t('Dead, failed or unrouted'),
        color: 'chart-3',
        values: valuesOf(({ dead, failed, unrouted }) => dead + failed + unrouted),
      },
    ],
  }
}

interface Series {
  name: string
  /** A custom property of the style sheet. */
  color: string
  values: number[]
}

/** Counts over time, a line for each series. `times` are in seconds since 1970. */
function Chart({ label, times, series }: { label: string; times: number[]; series: Series[] }) {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const box = element.current
    if (box === null) return
    let plot = draw(box, times, series)
    const again = () => {
      plot.destroy()
      plot = draw(box, times, series)
    }
    const sizes = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: HEIGHT }))
    sizes.observe(box)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', again)
    const theme = new MutationObserver(again)
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    return () => {
      sizes.disconnect()
      theme.disconnect()
      scheme.removeEventListener('change', again)
      plot.destroy()
    }
  }, [times, series])
  return (
    <figure class="chart">
      <div ref={element} role="img" aria-label={`${label}: ${summaryOf(series)}`} />
      <figcaption>
        {series.map(({ name, color }) => (
          <span key={name} class={`key ${color}`}>
            {name}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

/** The clock, or the day at its beginning, in the viewer's zone. */
function timeOf(seconds: number): string {
  const at = new Date(seconds * 1_000)
  return at.getHours() + at.getMinutes() === 0 ? shortDay(at) : clockTime(at)
}

function draw(box: HTMLElement, times: number[], series: Series[]): uPlot {
  const style = getComputedStyle(box)
  const color = (name: string) => style.getPropertyValue(`--${name}`).trim()
  const axis = {
    stroke: color('ink-quiet'),
    grid: { stroke: color('line'), width: 1 },
    ticks: { show: false },
  }
  return new uPlot(
    {
      width: box.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, points: { show: false } },
      scales: {
        y: { range: (_plot, _min, max) => [0, Math.max(4, max * 1.1)] },
      },
      axes: [
        { ...axis, grid: { show: false }, font: '12px system-ui', values: (_plot, at) => at.map(timeOf) },
        { ...axis, font: '12px system-ui', size: 44 },
      ],
      series: [
        {},
        ...series.map((one) => ({
          label: one.name,
          stroke: color(one.color),
          width: 2,
          points: { show: false },
        })),
      ],
    },
    [times, ...series.map(({ values }) => values)],
    box,
  )
}
